"""A job's life: load, then every cell, then close. Failures become records."""

import traceback
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Any

from runner import __version__
from runner.backends import load_runtime
from runner.backends.base import RuntimeModule, Session
from runner.cell import Cell, Job
from runner.errors import BenchError, RecordNotSaved, Unavailable, Unsupported
from runner.measure.clock import Clock, monotonic, resolution_s, seconds
from runner.measure.environment import hardware_id, read_environment, usable_cpus
from runner.measure.memory import MemoryMeter
from runner.modes import MODES
from runner.modes.base import Instruments
from runner.progress import Progress
from runner.record import Phase, Record, Status, save_record

Facts = dict[str, Any]


class Harness:
    """Executes one job and leaves one record per cell in the output folder."""

    def __init__(self, job: Job, out: Path, progress: Progress, clock: Clock = monotonic) -> None:
        self._job = job
        self._out = out
        self._progress = progress
        self._clock = clock
        self._memory = MemoryMeter()
        self._environment = read_environment()
        self._phase: Phase = "load"
        self._is_out_of_memory: Callable[[BaseException], bool] = lambda _: False
        self._facts: Facts = asdict(self._environment) | {
            "runner_version": __version__,
            "clock_resolution_s": resolution_s(clock),
        }

    def run(self) -> None:
        """Measure every cell.

        Raises:
            RecordNotSaved: the output folder takes no more records.
        """
        try:
            session = self._load()
        except Exception as error:  # whatever a runtime raises is a verdict on every cell
            for cell in self._job.cells:
                self._save_failure(cell, error)
            return
        with closing(session):
            for cell in self._job.cells:
                self._run_cell(session, cell)

    def _load(self) -> Session:
        self._enter("load", None)
        self._memory.reset()
        start = self._clock()
        runtime = load_runtime(self._job.cells[0].runtime)
        imported = self._clock()
        self._is_out_of_memory = runtime.is_out_of_memory
        session = self._open(runtime)
        self._facts |= {
            "import_time_s": seconds(imported - start),
            "load_time_s": seconds(self._clock() - imported),
            "memory_load_peak_bytes": self._memory.peak_bytes(),
            "parameters": session.parameters,
            "device_name": session.device_name,
            "hardware_id": hardware_id(self._environment, session.device_name),
            "threads": session.threads,
            "libraries": dict(session.libraries),
            "timed_region": session.timed_region,
        }
        return session

    def _open(self, runtime: RuntimeModule) -> Session:
        return runtime.open_session(self._job, usable_cpus(self._environment))

    def _run_cell(self, session: Session, cell: Cell) -> None:
        instruments = Instruments(
            clock=self._clock,
            memory=self._memory,
            environment=self._environment,
            enter=lambda phase: self._enter(phase, cell),
        )
        try:
            mode = MODES.get(cell.mode)
            if mode is None:
                raise Unsupported(f"this runner knows no mode {cell.mode}")
            measurement = mode(session, self._job, cell, instruments)
        except Exception as error:  # a failure inside a cell is data
            self._save_failure(cell, error)
        else:
            self._save(Record.of(self._job, cell, status="ok", **self._facts, **measurement))

    def _enter(self, phase: Phase, cell: Cell | None) -> None:
        self._phase = phase
        self._progress.phase(phase, cell.id if cell else None)

    def _save_failure(self, cell: Cell, error: Exception) -> None:
        log = self._save_trace(cell, error)
        self._save(
            Record.of(
                self._job,
                cell,
                status=self._status_of(error),
                reason=_reason(error),
                phase=self._phase,
                log=f"{log.parent.name}/{log.name}",
                **self._facts,
            )
        )

    def _save_trace(self, cell: Cell, error: Exception) -> Path:
        log = self._out / f"{cell.id}.log"
        try:
            log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
        except OSError as refusal:
            raise RecordNotSaved(f"{log}: cannot be written: {refusal.strerror}") from refusal
        return log

    def _status_of(self, error: Exception) -> Status:
        if isinstance(error, Unsupported):
            return "unsupported"
        if isinstance(error, Unavailable):
            return "unavailable"
        if isinstance(error, MemoryError) or self._is_out_of_memory(error):
            return "out_of_memory"
        return "failed"

    def _save(self, record: Record) -> None:
        save_record(record, self._out)
        self._progress.recorded(record.cell_id, record.status)


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
