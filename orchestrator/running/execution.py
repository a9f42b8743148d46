"""One run from its folder to the database: locks, launches, verdicts, merge."""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.launchers.base import Launcher
from orchestrator.planning.schedule import JobPlan, schedule
from orchestrator.running.artifacts import BACKEND
from orchestrator.running.availability import Readiness
from orchestrator.running.execute_job import Sources, Surroundings, supervise
from orchestrator.running.folder import RunFolder
from orchestrator.running.graphs import Graphs, executes_graph
from orchestrator.running.merge import merge_run
from orchestrator.running.observer import Observer
from orchestrator.running.references import References, is_verified
from orchestrator.store import MergeReport
from orchestrator.system.text import format_duration
from runner.contract.cell import Backend, Cell
from runner.contract.errors import (
    BenchError,
    EngineUnavailable,
    ImageError,
    NothingToDo,
    StoreError,
    Unavailable,
)
from runner.contract.record import Outcome, Record, Status

RETRIED: Collection[Status] = ("unavailable", "lost")
"""Verdicts that say a cell never had its chance; resuming a run tries again."""
FAILED: Collection[Status] = ("failed", "lost", "timeout", "out_of_memory")
ENGINE_GRACE_S = 10.0
OUTAGES_ENDURED = 3


@dataclass(frozen=True)
class Settings:
    """How a run is executed; none of it changes what a number means."""

    database: Path
    """The DuckDB file."""
    fail_fast: bool = False
    """Stop launching after the first failure."""
    budget_s: float | None = None
    """Stop launching after this many seconds."""
    memory_bytes: int | None = None
    """Host memory that a job may use where its limits don't say; None if nobody knows."""
    engine_grace_s: float = ENGINE_GRACE_S
    """Seconds that an engine which went away may take to come back."""


@dataclass(frozen=True)
class RunResult:
    """How a run ended."""

    merged: MergeReport
    """What went into the database."""
    troubles: tuple[BenchError, ...]
    """What kept cells from being launched, each once."""
    failures: int
    """Cells whose verdict counts as a failure."""
    measured: int
    """Cells that ended well."""
    incorrect: int = 0
    """Cells not found right on the claimed device, if verifying was all that was asked."""

    @property
    def exit_code(self) -> int:
        """0 when each planned cell has a verdict, one at least ended well and none failed."""
        for trouble in self.troubles:
            if isinstance(trouble, EngineUnavailable | ImageError):
                return trouble.exit_code
        if self.failures or self.incorrect:
            return 1
        return 0 if self.measured else NothingToDo.exit_code


class RunExecution:
    """A run under way: launches its jobs one after the other."""

    def __init__(
        self, folder: RunFolder, launcher: Launcher, observer: Observer, settings: Settings
    ) -> None:
        self._folder = folder
        self._launcher = launcher
        self._observer = observer
        self._settings = settings
        self._started = 0.0
        self._failed = False
        self._devices = devices_of(folder)
        self._surroundings = Surroundings(launcher, folder, observer)
        self._readiness = Readiness(launcher)
        prepare = self._readiness.prepare
        self._references = References(self._surroundings, prepare, settings.memory_bytes)
        self._graphs = Graphs(folder.path.parent, self._surroundings, prepare)
        self._troubles: dict[str, BenchError] = {}
        self._outages = 0

    def run(self) -> RunResult:
        """Measure what the run still misses; merge all there is, also when interrupted."""
        holder = f"run {self._folder.run.run_id}"
        with self._launcher.reserve(self._devices, holder, self._tell_waiting):
            self._started = time.monotonic()
            try:
                self._clean()
                self._folder.forget(RETRIED)
                self._save_skips()
                for job in schedule(self._folder.run.plan, self._folder.run.seed):
                    self._run_job(job)
            except BaseException:
                with suppress(StoreError):  # what ended the run is the better story
                    merge_run(self._folder, self._settings.database)
                raise
            merged = merge_run(self._folder, self._settings.database)
        return RunResult(merged, tuple(self._troubles.values()), *self._counts())

    def _tell_waiting(self, device: str, holder: str) -> None:
        self._observer.note(f"waiting for device {device}, held by {holder}")

    def _clean(self) -> None:
        with suppress(EngineUnavailable):
            if removed := self._launcher.clean(self._devices):
                self._observer.note(f"removed {removed} containers that a crashed run had left")

    def _save_skips(self) -> None:
        for entry in self._folder.run.plan.with_decision("skip"):
            if entry.status and self._folder.record_of(entry.cell) is None:
                self._give_verdict([entry.cell], entry.status, entry.reason)

    def _run_job(self, planned: JobPlan) -> None:
        """Visit the job's cells in this round, and before it in those they have missed."""
        if planned.measure.rounds > 1 and not self._reason_to_stop():
            with suppress(BenchError):  # the launch meets it again
                self._drop_foreign_parts(self._folder.missing(planned.cells))
        for round_ in range(self._first_missed(planned), planned.round + 1):
            if cells := self._folder.unvisited(planned.cells, round_):
                self._visit(cells, round_)

    def _first_missed(self, planned: JobPlan) -> int:
        """The earliest round that one of the job's cells still needs, or this one."""
        round_ = planned.round
        while round_ > 1 and self._folder.unvisited(planned.cells, round_ - 1):
            round_ -= 1
        return round_

    def _drop_foreign_parts(self, cells: Sequence[Cell]) -> None:
        """Rounds in another image or of another commit are no samples of the same thing."""
        if not cells:
            return
        before = self._folder.last_provenance(cells[0].job_id)
        if before not in (
            None,
            self._readiness.prepare(cells[0].backend),
        ) and self._folder.parts.drop(cells):
            self._observer.note(
                f"{cells[0].job_id} starts over: its earlier rounds ran in another environment"
            )

    def _visit(self, cells: Sequence[Cell], round_: int) -> None:
        if reason := self._reason_to_stop():
            before = f"stopped after round {round_ - 1}" if round_ > 1 else "not started"
            self._give_verdict(cells, "unavailable", f"{before}: {reason}")
            return
        try:
            self._supervise(cells, round_)
        except (Unavailable, ImageError, EngineUnavailable) as error:
            self._tell_trouble(error)
            left = self._folder.unvisited(cells, round_)
            self._give_verdict(left, "unavailable", str(error))
        self._failed = self._failed or any(map(self._has_failed, cells))

    def _reason_to_stop(self) -> str | None:
        if self._settings.fail_fast and self._failed:
            return "--fail-fast ended the run at its first failure"
        budget = self._settings.budget_s
        if budget is not None and time.monotonic() - self._started >= budget:
            return f"the budget of {format_duration(budget)} was spent"
        return None

    def _supervise(self, cells: Sequence[Cell], round_: int) -> None:
        """Run the job, starting again where it stopped if the engine goes away and comes back."""
        backend = cells[0].backend
        while True:
            job = self._folder.job(cells, self._readiness.prepare(backend), round_)
            try:
                job, graphs = self._graphs.ensure(job)
                job, references = self._references.ensure(job)
                supervise(job, self._surroundings, Sources(references, graphs))
            except EngineUnavailable as error:
                self._outages += 1
                if self._outages > OUTAGES_ENDURED or not self._engine_returns(backend):
                    self._readiness.give_up(backend, error)
                    raise
                self._observer.note("the container engine is back")
                self._clean()
            else:
                return

    def _engine_returns(self, backend: Backend) -> bool:
        self._observer.note("the container engine went away; waiting for it to come back")
        return self._readiness.returns(backend, self._settings.engine_grace_s)

    def _tell_trouble(self, error: BenchError) -> None:
        if str(error) not in self._troubles:
            self._troubles[str(error)] = error
            self._observer.note(f"{error}; {error.hint}" if error.hint else str(error))

    def _give_verdict(self, cells: Sequence[Cell], status: Status, reason: str | None) -> None:
        """Record cells that were never launched; what ran out of memory was predicted to."""
        for cell in cells:
            job = self._folder.job([cell], self._folder.nowhere)
            outcome = Outcome(status=status, reason=reason, phase="plan")
            record = Record.of(job, cell, outcome, {"predicted": status == "out_of_memory"})
            self._folder.save(record)
            self._observer.cell_ended(cell, record)

    def _counts(self) -> tuple[int, int, int]:
        """Failures, cells that ended well and, if that was the question, those not found right."""
        found = self._folder.sound_records()
        records = [(cell, found[cell.id]) for cell in self._folder.cells if cell.id in found]
        failures = sum(record.status in FAILED and not record.predicted for _, record in records)
        measured = sum(record.status == "ok" for _, record in records)
        asked = self._folder.run.purpose == "verify"
        incorrect = sum(_is_incorrect(cell, record) for cell, record in records)
        return failures, measured, incorrect if asked else 0

    def _has_failed(self, cell: Cell) -> bool:
        record = self._folder.record_of(cell)
        return record is not None and record.status in FAILED


def _is_incorrect(cell: Cell, record: Record) -> bool:
    """Whether a verification must not pass the cell: it is wrong, or nothing shows it is right."""
    if record.correct is False or record.proof == "contradicted":
        return True
    unshown = record.correct is None or record.proof == "none"
    return record.status == "ok" and unshown and is_verified(cell)


def devices_of(folder: RunFolder) -> frozenset[str]:
    """What the run occupies: the devices of its cells, and the one that lays their groundwork."""
    backends = {cell.backend for cell in folder.cells}
    verifies = folder.run.purpose != "time" and any(map(is_verified, folder.cells))
    if verifies or any(map(executes_graph, folder.cells)):
        backends.add(BACKEND)
    return frozenset[str]().union(*(CATALOGUE[backend].locks for backend in backends))
