"""Harness of one job: load, every cell, traces, close; failures become records."""

import traceback
from collections.abc import Collection, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from runner import __version__
from runner.backends.base import Region, Session, failure_kind
from runner.contract.axes import IN_CHILDREN
from runner.contract.cell import Cell
from runner.contract.errors import RecordNotSaved, reason_of
from runner.contract.files import save_text
from runner.contract.host import is_pinned
from runner.contract.job import Job
from runner.contract.reasons import reason, reason_columns, write_reason
from runner.contract.record.files import save_record
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Columns, Record
from runner.contract.record.verdict import Phase
from runner.contract.rounds import (
    LOG_SUFFIX,
    NO_TRACE_SUFFIX,
    TIMED_SUFFIX,
    RoundResult,
    output_path,
    raw_columns,
    read_rounds,
    save_round,
)
from runner.correctness.named_precision import judge_products, with_reason
from runner.correctness.timed_shape import is_compiled_for
from runner.correctness.verify import join_verified, verify_session, verify_timed
from runner.inputs import synthesise
from runner.job.efficiency import work_columns
from runner.job.load import Loader
from runner.job.replication import is_done
from runner.job.summary import summarise_rounds
from runner.measure.accelerator import accelerator_reader
from runner.measure.clock import NANOSECONDS, Clock, monotonic, resolution_s
from runner.measure.cpu_clock import CpuClockMeter
from runner.measure.energy import energy_meter
from runner.measure.environment import read_environment
from runner.measure.grade import Conditions
from runner.measure.memory.meter import memory_meter
from runner.measure.noise import noise_meter
from runner.measure.page_faults import PageFaultMeter
from runner.measure.phases import time_once
from runner.modes.base import Instruments
from runner.modes.registry import COLD_MODES, measure_warm, workload_of
from runner.process import Gate, Progress

LEAST_QUERIES = 5
LEAST_NS = 200_000_000  # least sum of the queries' durations
MOST_NS = 2_000_000_000  # sum at which they end with fewer: what is not timed stays small


def has_regions(cell: Cell) -> bool:
    """True if the cell's iteration is a query whose copies can be in or out."""
    return cell.mode == "inference" and cell.scenario != "server"


def host_to_host_s(session: Session, job: Job, cell: Cell, clock: Clock) -> float | None:
    """Median seconds of queries with both copies; None where the record's time is that anyhow."""
    if session.region != "device" or not has_regions(cell):
        return None
    query = session.bind_host_to_host(cell, synthesise(job.model, cell, job.weights_seed))
    time_once(query, clock)
    durations: list[int] = []
    while len(durations) < LEAST_QUERIES or sum(durations) < LEAST_NS:
        durations.append(time_once(query, clock))
        if sum(durations) >= MOST_NS:
            break
    return median(durations) / NANOSECONDS


def region_columns(
    region: Region, cell: Cell, latency_median_s: float, host_to_host: float | None
) -> Columns:
    """Columns of both regions; that of the device is null where every query copies."""
    if not has_regions(cell):
        return {}
    return {
        "device_median_s": None if region == "host_to_host" else latency_median_s,
        "host_to_host_median_s": host_to_host if region == "device" else latency_median_s,
    }


class Harness:
    """Executes one round of a job; in the last one each cell gets its record."""

    def __init__(  # noqa: PLR0913 - what it reads, what it writes, and who tells it when
        self,
        job: Job,
        out: Path,
        progress: Progress,
        references: Path | None = None,
        graphs: Path | None = None,
        *,
        clock: Clock = monotonic,
        gate: Gate | None = None,
    ) -> None:
        self._job = job
        self._gate = gate
        self._out = out
        self._progress = progress
        self._clock = clock
        self._phase: Phase = "load"
        self._environment = read_environment(job.inherit_environ)
        self._of_tree = job.cells[0].runtime in IN_CHILDREN
        self._memory = memory_meter(
            in_container=job.provenance.image is not None, of_tree=self._of_tree
        )
        self._resolution_s = resolution_s(clock)
        self._cpu_clock = CpuClockMeter(self._environment.cpu_affinity or (), pinned=is_pinned(job))
        self._references = references
        self._graphs = graphs
        self._agreement: Columns | None = None
        self._sized: dict[Cell, Cell] = {}
        self._loader = Loader(
            job, self._memory, self._environment, partial(self._enter, None), clock, graphs
        )

    def run(self) -> None:
        """Measure every cell, or verify it."""
        try:
            measured = [cell for cell in self._job.cells if self._run_cell(cell)]
            for cell in measured if self._job.trace else ():
                self._trace(cell)
        finally:
            self._cpu_clock.close()
            self._loader.close()

    def _run_cell(self, cell: Cell) -> bool:
        """True if it went well, and its trace is due."""
        try:
            columns = self._check(cell) if self._job.purpose == "verify" else self._measure(cell)
        except RecordNotSaved:
            raise
        except Exception as error:  # a failure inside a cell is data
            self._save_failure(cell, error)
            return False
        if columns is None:  # of a group's rounds none knows that it is the last
            return self._job.side_by_side is not None and self._job.round == 1
        self._save(Record.of(self._job, cell, Outcome(status="ok"), {**self._facts(), **columns}))
        return True

    def _check(self, cell: Cell) -> Columns:
        """Execute one untimed iteration of the cell, and check it."""
        session = self._loader.load()
        self._enter(cell, "first")
        with closing(workload_of(session, self._job, cell, self._clock)) as workload:
            workload()
            workload.check()
        proved = self._prove(session, cell)
        return {**proved, **self._verify(session, cell, proved)}

    def _measure(self, cell: Cell) -> Columns | None:
        """The columns of the record after the last round; None after others, which leave a file."""
        earlier = read_rounds(self._out, cell, self._job.round - 1)
        cold = COLD_MODES.get(cell.mode)
        if cold is not None:
            result = cold(self._job, cell, self._instruments(cell, earlier))
        else:
            session = self._loader.load()  # which knows the device to watch
            result = measure_warm(session, self._job, cell, self._instruments(cell, earlier))
        rounds, session = [*earlier, result], self._loader.load()
        self._job = self._job.on_hardware(self._loader.facts["hardware_id"])
        conditions = Conditions(
            self._environment,
            session.clock_resolution_s or self._resolution_s,
            self._loader.harness_overhead_s,
        )
        summary = summarise_rounds(self._job, cell, rounds, conditions)
        self._sized[cell] = cell.model_copy(
            update={"batch_size": summary.get("batch_size", cell.batch_size)}
        )
        observed = earlier[0].observed if earlier else None
        if not observed:
            proved = self._prove(session, self._sized[cell])
            self._keep_timed(session.region, result, cell, proved, summary)
            observed = {**proved, **self._verify(session, self._sized[cell], proved)}
        output_path(self._out, cell, TIMED_SUFFIX).unlink(missing_ok=True)
        columns = self._whole(session.region, cell, observed, summary)
        if self._job.side_by_side is None and is_done(self._job.measure, cell, rounds):
            return columns
        kept = self._with_columns(result, cell, columns, summary.keys())
        save_round(kept, self._out, cell, self._job.round)
        self._progress.visited(cell.id)
        return None

    def _whole(
        self, region: Region, cell: Cell, observed: Columns, summary: Columns
    ) -> dict[str, Any]:
        """All columns of the cell: found once, of its rounds, and what follows from both."""
        columns = {**observed, **summary}
        columns |= region_columns(
            region, cell, summary["latency_median_s"], columns.get("host_to_host_median_s")
        )
        return {**columns, **work_columns(self._job, self._sized[cell], columns)}

    def _keep_timed(
        self, region: Region, result: RoundResult, cell: Cell, proved: Columns, summary: Columns
    ) -> None:
        """Keep what was timed, in case that the verification does not end in time."""
        if self._job.purpose == "measure":
            unverified = reason("verification_timeout", limit_s=self._job.timeout_s)
            known = {**proved, **reason_columns("correct", unverified)}
            columns = self._whole(region, cell, known, summary)
            kept = self._with_columns(result, cell, columns, summary.keys())
            save_text(output_path(self._out, cell, TIMED_SUFFIX), kept.model_dump_json())

    def _with_columns(
        self, result: RoundResult, cell: Cell, columns: Columns, summarised: Collection[str]
    ) -> RoundResult:
        """The result of a round that may not be the last, with a record's columns so far."""
        known = {**self._facts(), **columns}
        plain = Record.of(self._job, cell, Outcome(status="ok"), known).model_dump(
            mode="json", include=known.keys() - raw_columns([result]).keys(), exclude_none=True
        )
        observed = {name: plain[name] for name in plain.keys() & columns.keys() - summarised}
        return result.model_copy(update={"observed": observed, "so_far": plain})

    def _prove(self, session: Session, cell: Cell) -> dict[str, Any]:
        """Prove the device, after everything that is timed."""
        self._enter(cell, "observe")
        inputs = synthesise(self._job.model, cell, self._job.weights_seed)
        # No name holds the query, so that it is freed before another shape is bound.
        proof, evidence = session.prove(
            session.bind(cell, inputs),
            lambda: closing(workload_of(session, self._job, cell, self._clock)),
        )
        columns = session.columns  # before another shape is bound
        observed = {
            "kernel_share": evidence.get("kernel_share"),
            "host_to_host_median_s": host_to_host_s(session, self._job, cell, self._clock),
            **self._loader.peaks,
        }
        return {"proof": proof, "evidence": evidence, **observed, **columns}

    def _verify(self, session: Session, cell: Cell, observed: Columns) -> Columns:
        """Columns of the comparison with the reference: that at the fixed shape is made once."""
        contradiction = judge_products(cell, session)
        if self._job.purpose == "time":
            return with_reason(reason_columns("correct", reason("not_verified")), contradiction)
        if self._agreement is None or is_compiled_for(cell, observed):
            self._enter(cell, "verify")
        timed = verify_timed(session, self._job, cell, self._references, observed)
        if self._agreement is None:
            self._agreement = verify_session(
                session, self._job, self._references, self._clock, observed
            )
        return with_reason(join_verified(self._agreement, timed), contradiction)

    def _trace(self, cell: Cell) -> None:
        """Profile an iteration, last of all, as it may slow the process; or leave a reason."""
        self._enter(cell, "observe")
        session = self._loader.load()
        try:
            sized = self._sized.get(cell, cell)
            with closing(workload_of(session, self._job, sized, self._clock)) as workload:
                workload()  # a first iteration does what the others don't
                session.trace(workload, self._out / cell.id)
        except RecordNotSaved:
            raise
        except Exception as error:
            save_text(output_path(self._out, cell, NO_TRACE_SUFFIX), write_reason(reason_of(error)))

    def _instruments(self, cell: Cell, earlier: Sequence[RoundResult]) -> Instruments:
        uuid, device = self._loader.facts.get("device_uuid"), self._loader.energy_device
        pci_address = None if device is None else device.pci_address
        return Instruments(
            clock=self._clock,
            memory=self._memory,
            energy=energy_meter(cell.backend, uuid, device),
            accelerator=accelerator_reader(cell.backend, uuid, pci_address),
            cpu_clock=self._cpu_clock,
            noise=noise_meter(self._environment.cpu_affinity, of_tree=self._of_tree),
            page_faults=PageFaultMeter(here=not self._of_tree),
            environment=self._environment,
            enter=partial(self._enter, cell),
            earlier=earlier,
            graphs=self._graphs,
            turns=self._gate.turns(cell.id) if self._gate else None,
        )

    def _facts(self) -> dict[str, Any]:
        return {
            **self._environment.model_dump(exclude_unset=True),
            "runner_version": __version__,
            "clock_resolution_s": self._resolution_s,
            "memory_method": self._memory.method,
            **self._loader.facts,
        }

    def _enter(self, cell: Cell | None, phase: Phase) -> None:
        self._phase = phase
        self._progress.phase(phase, cell.id if cell else None)

    def _save_failure(self, cell: Cell, error: Exception) -> None:
        log = output_path(self._out, cell, LOG_SUFFIX)
        try:
            log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        except OSError as refusal:
            raise RecordNotSaved(f"{log}: cannot be written: {refusal.strerror}") from refusal
        phase = "load" if error is self._loader.failure else self._phase
        status, file = failure_kind(error, self._loader.runtime), f"{log.parent.name}/{log.name}"
        outcome = Outcome.because(status, reason_of(error), phase, file)
        self._save(Record.of(self._job, cell, outcome, self._facts()))

    def _save(self, record: Record) -> None:
        save_record(record, self._out)
        self._progress.recorded(record.cell_id, record.status)
