"""What outputs are verified against: computed once per model and seed, kept for all runs."""

from collections.abc import Callable
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from orchestrator.attempt import Surroundings, attempt, cause_of
from orchestrator.errors import EngineUnavailable, ImageError
from orchestrator.launchers.base import Task
from orchestrator.observer import QuietObserver
from orchestrator.whole_files import storing, write_whole
from runner.cell import Backend, Cell, Job, Provenance
from runner.errors import Unavailable

FOLDER_NAME = "references"
BACKEND: Backend = "cpu"
"""Where references are computed."""

Prepare = Callable[[Backend], Provenance]
"""Makes sure that jobs of a backend can be launched; raises what `Launcher.prepare` does."""


def is_verified(cell: Cell) -> bool:
    """Whether this cell's outputs can be compared; the fake backend computes none."""
    return cell.backend != "fake"


class References:
    """The references of one results folder, each computed when a run first needs it."""

    def __init__(self, surroundings: Surroundings, prepare: Prepare) -> None:
        self._surroundings = surroundings
        self._prepare = prepare
        self._path = surroundings.folder.path.parent / FOLDER_NAME
        self._tried: set[str] = set()

    def ensure(self, job: Job) -> Path | None:
        """The folder with the job's reference; None if the job verifies nothing.

        A reference that cannot be computed is tried once in a run. The reason then lies in its
        place, where the runner reads it, until a later run tries again.

        Raises:
            EngineUnavailable: the engine went away.
            StoreError: the results folder cannot be written.
        """
        if job.purpose not in {"measure", "verify"} or not is_verified(job.cells[0]):
            return None
        key = job.reference_key
        with storing(self._path):
            self._path.mkdir(exist_ok=True)
        if key not in self._tried and not self._has(key):
            self._compute(job)
        self._tried.add(key)
        return self._path

    def _has(self, key: str) -> bool:
        """Whether it is there and whole: what is damaged is computed anew."""
        try:
            with ZipFile(self._path / f"{key}.npz") as archive:
                names = archive.namelist()
                arrays = bool(names) and all(name.endswith(".npy") for name in names)
                return arrays and archive.testzip() is None
        except (OSError, BadZipFile):
            return False

    def _compute(self, job: Job) -> None:
        observer, name = self._surroundings.observer, job.model.name
        failure = self._path / f"{job.reference_key}.failed"
        observer.note(f"computing the fp32 reference of {name}")
        with storing(failure):
            failure.unlink(missing_ok=True)
        try:
            reason = self._launch(_reference_job(job, self._prepare(BACKEND)))
        except (Unavailable, ImageError) as error:
            reason = str(error)
        with storing(self._path):
            (self._path / f".{job.reference_key}.npz.tmp").unlink(missing_ok=True)
        if self._has(job.reference_key):
            return
        reason = failure.read_text("utf-8").strip() if failure.exists() else reason
        observer.note(f"no reference of {name}, so its outputs are not verified: {reason}")
        with storing(failure):
            write_whole(failure, reason)

    def _launch(self, job: Job) -> str:
        """Launch the job; returns why it ended."""
        folder = self._surroundings.folder
        task = Task(
            run_id=job.run_id,
            job_id=job.id,
            backend=BACKEND,
            limits=job.limits,
            job_file=folder.write_job(job),
            out=self._path,
        )
        unseen = Surroundings(
            self._surroundings.launcher, folder, QuietObserver(), self._surroundings.clock
        )
        made = attempt(job, task, unseen)
        if made.exit is None:
            raise EngineUnavailable("the container engine went away in mid-run")
        return cause_of(made).reason


def _reference_job(job: Job, provenance: Provenance) -> Job:
    first = job.cells[0]
    cell = Cell(
        model=first.model,
        backend=BACKEND,
        runtime="torch",
        precision="fp32",
        batch_size=1,
        sequence_length=first.sequence_length,
        mode="inference",
    )
    return job.model_copy(
        update={
            "id": f"reference-{first.model}",
            "cells": (cell,),
            "provenance": provenance,
            "purpose": "reference",
            "trace": False,
            "round": 1,
        }
    )
