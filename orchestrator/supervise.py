"""Runs one job until each of its cells has a verdict, whatever happens to its containers."""

import json
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty
from typing import get_args

from orchestrator.errors import EngineUnavailable, StoreError
from orchestrator.launchers.base import Execution, Exit, Launcher, Task
from orchestrator.observer import Observer
from orchestrator.run_folder import RunFolder
from runner.cell import Cell, Job
from runner.errors import JobError, RecordNotSaved
from runner.record import Phase, Record, Status

Clock = Callable[[], float]
"""Seconds that never go backwards."""
PHASES: frozenset[Phase] = frozenset(get_args(Phase))


@dataclass
class Attempt:
    """What is known of one launch."""

    job: Job
    phase: Phase = "load"
    cell: Cell | None = None
    timed_out: bool = False
    exit: Exit | None = None
    """None when the engine went away and nobody knows."""


def supervise(
    job: Job,
    launcher: Launcher,
    folder: RunFolder,
    observer: Observer,
    clock: Clock = time.monotonic,
) -> None:
    """Launch the job; when a launch dies, give its victim a verdict and launch the rest.

    Every attempt leaves at least one cell less without a record, so this ends.

    Raises:
        EngineUnavailable: the engine went away; the cell in hand has its verdict.
        ImageError: the image is gone.
        StoreError: the results folder takes no more records.
    """
    pending = folder.missing(job.cells)
    while pending:
        part = job.model_copy(update={"cells": tuple(pending)})
        attempt = _attempt(part, launcher, folder, observer, clock)
        _refuse_full_disk(attempt, folder)
        pending = folder.missing(pending)
        for cell, status, reason in _verdicts(attempt, pending):
            record = Record.of(part, cell, status=status, reason=reason, phase=attempt.phase)
            folder.save(record)
            observer.cell_ended(cell, record)
            pending.remove(cell)
        if attempt.exit is None:
            raise EngineUnavailable(
                "the container engine went away in mid-run",
                hint="start it again, then `orchestrator run --resume last`",
            )


def _attempt(
    job: Job, launcher: Launcher, folder: RunFolder, observer: Observer, clock: Clock
) -> Attempt:
    attempt = Attempt(job)
    job_file = folder.write_job(job)
    task = Task(
        run_id=job.run_id,
        job_id=job.id,
        backend=job.cells[0].backend,
        limits=job.limits,
        job_file=job_file,
        out=folder.out(job.id),
    )
    observer.job_started(job)
    with launcher.launch(task) as execution:
        _follow(execution, attempt, folder, observer, clock)
        with suppress(EngineUnavailable):
            attempt.exit = execution.wait()
            folder.write_log(job_file, attempt.exit.log)
    return attempt


def _follow(
    execution: Execution, attempt: Attempt, folder: RunFolder, observer: Observer, clock: Clock
) -> None:
    """Read progress until it ends; kill the runner when a cell, or loading, takes too long."""
    timeout = attempt.job.limits.cell_timeout_s
    deadline = clock() + timeout
    while True:
        try:
            line = execution.lines.get(timeout=max(0.0, deadline - clock()))
        except Empty:
            attempt.timed_out = True
            execution.kill()
            return
        if line is None:
            return
        if _take(line, attempt, folder, observer):
            deadline = clock() + timeout


def _take(line: str, attempt: Attempt, folder: RunFolder, observer: Observer) -> bool:
    """Note one progress line; whether a new stretch of work begins with it."""
    try:
        event = json.loads(line)
        kind, cell_id, phase = event["event"], event["cell_id"], event.get("phase")
    except (ValueError, KeyError, TypeError):
        return False
    cell = next((cell for cell in attempt.job.cells if cell.id == cell_id), None)
    if kind == "recorded" and cell is not None:
        record = folder.record_of(cell)
        attempt.cell = None
        if record is not None:
            observer.cell_ended(cell, record)
        return True
    if kind == "phase" and phase in PHASES:
        begins = attempt.cell != cell
        attempt.phase, attempt.cell = phase, cell
        observer.phase_began(attempt.phase, cell)
        return begins
    return False


def _refuse_full_disk(attempt: Attempt, folder: RunFolder) -> None:
    if attempt.exit is not None and attempt.exit.code == RecordNotSaved.exit_code:
        last_words = attempt.exit.log.strip().splitlines()[-1:] or ["the disk is full"]
        raise StoreError(
            f"{folder.path}: the runner could not save a record: {last_words[0]}",
            hint="free some space; `orchestrator run --resume last` measures what is missing",
        )


def _verdicts(attempt: Attempt, pending: Sequence[Cell]) -> list[tuple[Cell, Status, str]]:
    """Who gets which verdict after a launch ended and these cells have no record."""
    if not pending:
        return []
    status, reason, strikes_all = _cause(attempt)
    if strikes_all and attempt.phase == "load":
        victims = list(pending)
    else:
        victims = [cell for cell in pending if cell == attempt.cell] or [pending[0]]
    return [(cell, status, reason) for cell in victims]


def _cause(attempt: Attempt) -> tuple[Status, str, bool]:
    """Status, reason, and whether striking while loading it would strike every cell."""
    limits, where = attempt.job.limits, f"in phase {attempt.phase}"
    if attempt.timed_out:
        return "timeout", f"not done after {limits.cell_timeout_s:g} s, {where}", True
    if attempt.exit is None:
        return "lost", f"the container engine went away {where}", False
    if attempt.exit.out_of_memory:
        allowed = f" of {limits.memory_bytes} bytes" if limits.memory_bytes else ""
        return "out_of_memory", f"killed for exceeding the memory limit{allowed}, {where}", True
    if attempt.exit.code == JobError.exit_code:
        return "failed", f"the runner refused the job: {attempt.exit.log.strip()}", True
    if attempt.exit.code == 0:
        return "lost", "the runner ended well but left no sound record of this cell", False
    last_words = attempt.exit.log.strip().splitlines()[-1:]
    said = f", saying: {last_words[0]}" if last_words else ""
    return "lost", f"the runner {_describe(attempt.exit.code)} {where}{said}", False


def _describe(code: int) -> str:
    number = -code if code < 0 else code - 128
    with suppress(ValueError):
        return f"died by {signal.Signals(number).name}"
    return f"ended with exit status {code}"
