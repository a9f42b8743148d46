"""What outputs are verified against: computed once per model and seed, kept for all runs."""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from orchestrator.attempt import Surroundings
from orchestrator.groundwork import BACKEND, Groundwork, Prepare
from orchestrator.whole_files import storing
from runner.cell import Cell, Job

FOLDER_NAME = "references"


def is_verified(cell: Cell) -> bool:
    """Whether this cell's outputs can be compared; the fake backend computes none."""
    return cell.backend != "fake"


class References:
    """The references of one results folder, each computed when a run first needs it."""

    def __init__(self, surroundings: Surroundings, prepare: Prepare) -> None:
        path = surroundings.folder.path.parent / FOLDER_NAME
        self._ground = Groundwork(path, surroundings, prepare)
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
        key, path = job.reference_key, self._ground.open()
        if key not in self._tried and not self._has(key):
            self._compute(job)
        self._tried.add(key)
        return path

    def _has(self, key: str) -> bool:
        """Whether it is there and whole: what is damaged is computed anew."""
        try:
            with ZipFile(self._ground.path / f"{key}.npz") as archive:
                names = archive.namelist()
                arrays = bool(names) and all(name.endswith(".npy") for name in names)
                return arrays and archive.testzip() is None
        except (OSError, BadZipFile):
            return False

    def _compute(self, job: Job) -> None:
        key, name, path = job.reference_key, job.model.name, self._ground.path
        self._ground.note(f"computing the fp32 reference of {name}")
        self._ground.forget_failure(key)
        reason = self._ground.launch(_reference_job(job))
        with storing(path):
            (path / f".{key}.npz.tmp").unlink(missing_ok=True)
        if not self._has(key):
            reason = self._ground.keep_failure(key, reason)
            self._ground.note(f"no reference of {name}, so its outputs are not verified: {reason}")


def _reference_job(job: Job) -> Job:
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
            "purpose": "reference",
            "trace": False,
            "round": 1,
        }
    )
