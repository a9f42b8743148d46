"""Executes one job until its round has visited each of its cells, whatever happens to launches."""

import json
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty
from typing import get_args

from orchestrator.launchers.base import Exit, Launcher, Task, TaskExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.system.text import format_size
from runner.contract.cell import Cell
from runner.contract.errors import EngineUnavailable, JobError, RecordNotSaved, StoreError
from runner.contract.files import remove_unfinished
from runner.contract.job import Job
from runner.contract.process_exit import describe_end, last_line
from runner.contract.record import Outcome, Phase, Record, Status

_PHASES: frozenset[Phase] = frozenset(get_args(Phase))


@dataclass(frozen=True)
class LaunchContext:
    """Everything that a launch needs beside its job."""

    launcher: Launcher
    folder: RunFolder
    observer: Observer
    clock: Callable[[], float] = time.monotonic
    """Seconds that never go backwards."""


@dataclass(frozen=True)
class ArtifactFolders:
    """Folders of what other jobs have made, which the runner only reads."""

    references: Path | None = None
    """References that outputs are verified against."""
    graphs: Path | None = None
    """Prepared graphs."""


@dataclass(frozen=True)
class LaunchOutcome:
    """The verdict that the end of a launch brings upon the cells it left."""

    status: Status
    reason: str
    """A sentence."""
    is_persistent: bool
    """True if the next launch would end the same way, should this one have ended while loading."""


@dataclass
class Launch:
    """One launch of a job, and how far it came."""

    job: Job
    phase: Phase = "load"
    cell: Cell | None = None
    """The current cell; None while loading, which is for all of them."""
    timed_out: bool = False
    exit: Exit | None = None
    """None if the container engine was lost before the exit status was known."""

    @property
    def outcome(self) -> LaunchOutcome:
        """The reason of its end, whatever it has left."""
        limits, where = self.job.limits, f"in phase {self.phase}"
        if self.timed_out:
            reason = f"not done after {self.job.timeout_s:g} s, {where}"
            return LaunchOutcome("timeout", reason, True)
        if self.exit is None:
            return LaunchOutcome("lost", f"the container engine went away {where}", False)
        if self.exit.out_of_memory:
            allowed = f" of {format_size(limits.memory_bytes)}" if limits.memory_bytes else ""
            reason = f"killed for exceeding the memory limit{allowed}, {where}"
            return LaunchOutcome("out_of_memory", reason, True)
        if self.exit.code == JobError.exit_code:
            reason = f"the runner refused the job: {self.exit.log.strip()}"
            return LaunchOutcome("failed", reason, True)
        if self.exit.code == 0:
            reason = "the runner ended well but left nothing that can be read"
            return LaunchOutcome("lost", reason, False)
        words = last_line(self.exit.log)
        reason = f"the runner {describe_end(self.exit.code)} {where}"
        return LaunchOutcome("lost", f"{reason}, saying: {words}" if words else reason, False)

    def verdicts(self, pending: Sequence[Cell]) -> list[tuple[Cell, Outcome]]:
        """The verdicts on these cells, which the launch has not visited: one of them, or all."""
        if not pending:
            return []
        outcome = self.outcome
        if outcome.is_persistent and self.phase == "load":
            victims = list(pending)
        else:
            victims = [cell for cell in pending if cell == self.cell] or [pending[0]]
        verdict = Outcome(status=outcome.status, reason=outcome.reason, phase=self.phase)
        return [(cell, verdict) for cell in victims]


_NONE = ArtifactFolders()


def execute_job(job: Job, context: LaunchContext, artifacts: ArtifactFolders = _NONE) -> None:
    """Launch the job; when a launch dies, give its victim a verdict and launch the rest.

    Every launch leaves at least one cell less to visit, so this ends.

    Args:
        job: its cells, and which of their rounds this is.
        context: everything that launches need.
        artifacts: folders that the runner reads.

    Raises:
        EngineUnavailable: the engine went away; the running cell has its verdict.
        ImageError: the image is gone.
        Unavailable: the engine refuses what the backend needs.
        StoreError: the results folder takes no more records.
    """
    folder, observer = context.folder, context.observer
    pending = folder.due(job.cells, job.round)
    while pending:
        rest = job.model_copy(update={"cells": tuple(pending)})
        observer.job_started(rest)
        launch = launch_job(rest, _task(rest, folder, artifacts), context)
        pending = folder.due(pending, job.round)
        for cell, verdict in launch.verdicts(pending):
            record = Record.of(rest, cell, verdict)
            folder.save(record)
            observer.cell_ended(cell, record)
            pending.remove(cell)
        if launch.exit is None:
            raise EngineUnavailable(
                "the container engine stopped answering during the run",
                hint="start it again, then `orchestrator run --resume last`",
            )


def launch_job(job: Job, task: Task, context: LaunchContext) -> Launch:
    """Launch the job once, wait for its end, and remove what it was killed at writing.

    Raises:
        EngineUnavailable: the engine could not launch it.
        ImageError: the image is gone.
        Unavailable: the engine refuses what the backend needs.
        StoreError: the results folder takes no more files.
    """
    launch = Launch(job)
    try:
        with context.launcher.launch(task) as execution:
            _follow(execution, launch, context)
            with suppress(EngineUnavailable):
                launch.exit = execution.wait()
                context.folder.write_log(task.job_file, launch.exit.log)
    finally:
        remove_unfinished(task.out)
    _refuse_full_disk(launch, context.folder)
    return launch


def _follow(execution: TaskExecution, launch: Launch, context: LaunchContext) -> None:
    """Read progress until it ends; kill the runner when a cell, or loading, takes too long."""
    timeout, clock = launch.job.timeout_s, context.clock
    deadline = clock() + timeout
    while True:
        try:
            line = execution.lines.get(timeout=max(0.0, deadline - clock()))
        except Empty:
            launch.timed_out = True
            execution.kill()
            return
        if line is None:
            return
        if _note_progress(line, launch, context):
            deadline = clock() + timeout


def _note_progress(line: str, launch: Launch, context: LaunchContext) -> bool:
    """Note one progress line; True if a new stretch of work begins with it."""
    try:
        event = json.loads(line)
        kind, cell_id, phase = event["event"], event["cell_id"], event.get("phase")
    except (ValueError, KeyError, TypeError):
        return False
    cell = next((cell for cell in launch.job.cells if cell.id == cell_id), None)
    if kind in {"recorded", "visited"} and cell is not None:
        launch.cell = None
        if kind == "visited":
            context.observer.cell_visited(cell, launch.job)
        elif record := context.folder.record_of(cell):
            context.observer.cell_ended(cell, record)
        return True
    if kind == "phase" and phase in _PHASES:
        # Exports, which belong to no cell, load anew for each way that they try.
        begins = cell is None or launch.cell != cell
        launch.phase, launch.cell = phase, cell
        context.observer.phase_began(launch.phase, cell)
        return begins
    return False


def _refuse_full_disk(launch: Launch, folder: RunFolder) -> None:
    if launch.exit is not None and launch.exit.code == RecordNotSaved.exit_code:
        raise StoreError(
            f"{folder.path}: the runner could not save what it measured: "
            f"{last_line(launch.exit.log) or 'the disk is full'}",
            hint="free some space, then `orchestrator run --resume last`",
        )


def _task(job: Job, folder: RunFolder, artifacts: ArtifactFolders) -> Task:
    return Task(
        job=job,
        backend=job.cells[0].backend,
        job_file=folder.write_job(job),
        out=folder.out(job.id),
        references=artifacts.references,
        graphs=artifacts.graphs,
    )
