"""Runs one job until its round has visited each of its cells, whatever happens to containers."""

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
        remove_unfinished(task.out)
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


def _follow(execution: TaskExecution, made: Attempt, surroundings: Surroundings) -> None:
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


@dataclass(frozen=True)
class Sources:
    """Folders of what other jobs made, which the runner only reads."""

    references: Path | None = None
    """What outputs are verified against."""
    graphs: Path | None = None
    """Prepared graphs."""


_NOTHING = Sources()


def supervise(job: Job, surroundings: Surroundings, sources: Sources = _NOTHING) -> None:
    """Launch the job; when a launch dies, give its victim a verdict and launch the rest.

    Every attempt leaves at least one cell less to visit, so this ends.

    Args:
        job: its cells, and which of their rounds this is.
        surroundings: what to launch it with.
        sources: what the runner reads.

    Raises:
        EngineUnavailable: the engine went away; the cell in hand has its verdict.
        ImageError: the image is gone.
        Unavailable: the engine refuses what the backend needs.
        StoreError: the results folder takes no more records.
    """
    folder, observer = surroundings.folder, surroundings.observer
    pending = folder.unvisited(job.cells, job.round)
    while pending:
        part = job.model_copy(update={"cells": tuple(pending)})
        observer.job_started(part)
        made = attempt(part, _task(part, folder, sources), surroundings)
        pending = folder.unvisited(pending, job.round)
        for cell, status, reason in _verdicts(made, pending):
            outcome = Outcome(status=status, reason=reason, phase=made.phase)
            record = Record.of(part, cell, outcome)
            folder.save(record)
            observer.cell_ended(cell, record)
            pending.remove(cell)
        if made.exit is None:
            raise EngineUnavailable(
                "the container engine went away in mid-run",
                hint="start it again, then `orchestrator run --resume last`",
            )


def _task(job: Job, folder: RunFolder, sources: Sources) -> Task:
    return Task(
        job=job,
        backend=job.cells[0].backend,
        job_file=folder.write_job(job),
        out=folder.out(job.id),
        references=sources.references,
        graphs=sources.graphs,
    )


def _verdicts(made: Attempt, pending: Sequence[Cell]) -> list[tuple[Cell, Status, str]]:
    """Who gets which verdict after a launch ended without having visited these cells."""
    if not pending:
        return []
    cause = cause_of(made)
    if cause.strikes_again and made.was_loading:
        victims = list(pending)
    else:
        victims = [cell for cell in pending if cell == made.cell] or [pending[0]]
    return [(cell, cause.status, cause.reason) for cell in victims]
