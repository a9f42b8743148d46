"""One launch of a job: follow its progress, end it when it takes too long, say how it ended."""

import json
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty
from typing import get_args

from orchestrator.errors import EngineUnavailable, StoreError
from orchestrator.launchers.base import Execution, Exit, Launcher, Task
from orchestrator.observer import Observer
from orchestrator.run_folder import RunFolder
from orchestrator.units import format_size
from runner.cell import Cell, Job
from runner.ended import describe_end, last_line
from runner.errors import JobError, RecordNotSaved
from runner.record import Phase, Status
from runner.whole_files import drop_unfinished

Clock = Callable[[], float]
"""Seconds that never go backwards."""
PHASES: frozenset[Phase] = frozenset(get_args(Phase))


@dataclass(frozen=True)
class Surroundings:
    """What an attempt is made with."""

    launcher: Launcher
    folder: RunFolder
    observer: Observer
    clock: Clock = time.monotonic


@dataclass
class Attempt:
    """What is known of one launch."""

    job: Job
    phase: Phase = "load"
    cell: Cell | None = None
    timed_out: bool = False
    exit: Exit | None = None
    """None when the engine went away and nobody knows."""

    @property
    def was_loading(self) -> bool:
        """Whether it ended while no cell was in hand: loading is for all of them."""
        return self.phase == "load"


@dataclass(frozen=True)
class Cause:
    """Why a launch ended."""

    status: Status
    """The verdict on whatever was in hand."""
    reason: str
    """Why, in a sentence."""
    strikes_again: bool
    """Whether the next launch would end the same way if this one ended while loading."""


def attempt(job: Job, task: Task, surroundings: Surroundings) -> Attempt:
    """Launch the job, wait for its end, and clear away what it was killed at writing.

    Raises:
        EngineUnavailable: the engine could not launch it.
        ImageError: the image is gone.
        Unavailable: the engine refuses what the backend needs.
        StoreError: the results folder takes no more files.
    """
    made = Attempt(job)
    try:
        with surroundings.launcher.launch(task) as execution:
            _follow(execution, made, surroundings)
            with suppress(EngineUnavailable):
                made.exit = execution.wait()
                surroundings.folder.write_log(task.job_file, made.exit.log)
    finally:
        drop_unfinished(task.out)
    _refuse_full_disk(made, surroundings.folder)
    return made


def cause_of(attempt: Attempt) -> Cause:
    """Why the launch ended, whatever it left."""
    limits, where = attempt.job.limits, f"in phase {attempt.phase}"
    if attempt.timed_out:
        return Cause("timeout", f"not done after {attempt.job.timeout_s:g} s, {where}", True)
    if attempt.exit is None:
        return Cause("lost", f"the container engine went away {where}", False)
    if attempt.exit.out_of_memory:
        allowed = f" of {format_size(limits.memory_bytes)}" if limits.memory_bytes else ""
        reason = f"killed for exceeding the memory limit{allowed}, {where}"
        return Cause("out_of_memory", reason, True)
    if attempt.exit.code == JobError.exit_code:
        return Cause("failed", f"the runner refused the job: {attempt.exit.log.strip()}", True)
    if attempt.exit.code == 0:
        return Cause("lost", "the runner ended well but left nothing that can be read", False)
    said = f", saying: {last_words}" if (last_words := last_line(attempt.exit.log)) else ""
    return Cause("lost", f"the runner {describe_end(attempt.exit.code)} {where}{said}", False)


def _follow(execution: Execution, made: Attempt, surroundings: Surroundings) -> None:
    """Read progress until it ends; kill the runner when a cell, or loading, takes too long."""
    timeout, clock = made.job.timeout_s, surroundings.clock
    deadline = clock() + timeout
    while True:
        try:
            line = execution.lines.get(timeout=max(0.0, deadline - clock()))
        except Empty:
            made.timed_out = True
            execution.kill()
            return
        if line is None:
            return
        if _take(line, made, surroundings):
            deadline = clock() + timeout


def _take(line: str, made: Attempt, surroundings: Surroundings) -> bool:
    """Note one progress line; whether a new stretch of work begins with it."""
    try:
        event = json.loads(line)
        kind, cell_id, phase = event["event"], event["cell_id"], event.get("phase")
    except (ValueError, KeyError, TypeError):
        return False
    cell = next((cell for cell in made.job.cells if cell.id == cell_id), None)
    if kind in {"recorded", "visited"} and cell is not None:
        made.cell = None
        _tell(kind, cell, made.job, surroundings)
        return True
    if kind == "phase" and phase in PHASES:
        # Exports, which belong to no cell, load anew for each way that they try.
        begins = cell is None or made.cell != cell
        made.phase, made.cell = phase, cell
        surroundings.observer.phase_began(made.phase, cell)
        return begins
    return False


def _tell(kind: str, cell: Cell, job: Job, surroundings: Surroundings) -> None:
    if kind == "visited":
        surroundings.observer.cell_visited(cell, job)
    elif record := surroundings.folder.record_of(cell):
        surroundings.observer.cell_ended(cell, record)


def _refuse_full_disk(made: Attempt, folder: RunFolder) -> None:
    if made.exit is not None and made.exit.code == RecordNotSaved.exit_code:
        raise StoreError(
            f"{folder.path}: the runner could not save what it measured: "
            f"{last_line(made.exit.log) or 'the disk is full'}",
            hint="free some space; `orchestrator run --resume last` measures what is missing",
        )
