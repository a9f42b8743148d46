"""Runs one job until its round has visited each of its cells, whatever happens to containers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.attempt import Attempt, Surroundings, attempt, cause_of
from orchestrator.errors import EngineUnavailable
from orchestrator.launchers.base import Task
from orchestrator.run_folder import RunFolder
from orchestrator.weights import weights_folder
from runner.cell import Cell, Job
from runner.record import Record, Status


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
            record = Record.of(part, cell, status=status, reason=reason, phase=made.phase)
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
        run_id=job.run_id,
        job_id=job.id,
        backend=job.cells[0].backend,
        limits=job.limits,
        job_file=folder.write_job(job),
        out=folder.out(job.id),
        references=sources.references,
        graphs=sources.graphs,
        weights=weights_folder(job.model),
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
