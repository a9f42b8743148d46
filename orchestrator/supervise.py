"""Runs one job until its round has visited each of its cells, whatever happens to containers."""

from collections.abc import Sequence
from pathlib import Path

from orchestrator.attempt import Attempt, Surroundings, attempt, cause_of
from orchestrator.errors import EngineUnavailable
from orchestrator.launchers.base import Task
from orchestrator.run_folder import RunFolder
from runner.cell import Cell, Job
from runner.record import Record, Status


def supervise(job: Job, surroundings: Surroundings, references: Path | None = None) -> None:
    """Launch the job; when a launch dies, give its victim a verdict and launch the rest.

    Every attempt leaves at least one cell less to visit, so this ends.

    Args:
        job: its cells, and which of their rounds this is.
        surroundings: what to launch it with.
        references: the folder of what outputs are verified against.

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
        made = attempt(part, _task(part, folder, references), surroundings)
        pending = folder.unvisited(pending, job.round)
        for cell, status, reason in _verdicts(made, pending):
            record = Record.of(part, cell, status=status, reason=reason, phase=made.phase)
            folder.save(record)
            observer.cell_ended(cell, record)
            pending.remove(cell)
        if made.exit is None:
            raise EngineUnavailable(
                "the container engine went away in mid-run",
                hint="start it again, then `orchestrator run --resume last`",
            )


def _task(job: Job, folder: RunFolder, references: Path | None) -> Task:
    return Task(
        run_id=job.run_id,
        job_id=job.id,
        backend=job.cells[0].backend,
        limits=job.limits,
        job_file=folder.write_job(job),
        out=folder.out(job.id),
        references=references,
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
