"""What outputs are verified against: computed once per model and seed, kept for all runs."""

from pathlib import Path
from zipfile import BadZipFile, ZipFile

from orchestrator.planning.memory import shortage
from orchestrator.running.artifacts import BACKEND, Groundwork, Prepare, versions_of
from orchestrator.running.execute_job import Surroundings
from runner.contract.artifact_keys import REFERENCES, Versions, reference_key
from runner.contract.cell import Cell
from runner.contract.graph import graph_kind
from runner.contract.job import Job

FOLDER_NAME = "references"


def is_verified(cell: Cell) -> bool:
    """Whether this cell's outputs can be compared; the fake backend computes none."""
    return cell.backend != "fake"


class References:
    """The references of one results folder, each computed when a run first needs it."""

    def __init__(
        self, surroundings: Surroundings, prepare: Prepare, memory_bytes: int | None = None
    ) -> None:
        """The references beside the run.

        Args:
            surroundings: what launches are made with.
            prepare: makes sure that they can be.
            memory_bytes: host memory that a job may use without limits; None if nobody knows.
        """
        path = surroundings.folder.path.parent / FOLDER_NAME
        self._ground = Groundwork(path, surroundings, prepare)
        self._in_images = surroundings.launcher.needs_images
        self._memory_bytes = memory_bytes
        self._tried: set[str] = set()
        self._versions: Versions | None = None

    def ensure(self, job: Job) -> tuple[Job, Path | None]:
        """The job with its reference named, and the folder of all references.

        The folder is None if the job verifies nothing. A reference that cannot be computed is
        tried once in a run. The reason then lies in its place, where the runner reads it, until a
        later run tries again.

        Raises:
            EngineUnavailable: the engine went away.
            StoreError: the results folder cannot be written.
        """
        if job.purpose not in {"measure", "verify"} or not is_verified(job.cells[0]):
            return job, None
        job, path = self._named(job), self._ground.open()
        key = str(job.reference)
        if key not in self._tried and not self._has(key):
            self._compute(job, key)
        self._tried.add(key)
        return job, path

    def _named(self, job: Job) -> Job:
        if self._versions is None:
            self._versions = versions_of(REFERENCES, in_images=self._in_images)
        key = reference_key(job.model, graph_kind(job.cells[0]), job.seed, self._versions)
        return job.model_copy(update={"reference": key})

    def _has(self, key: str) -> bool:
        """Whether it is there and whole: what is damaged is computed anew."""
        try:
            with ZipFile(self._ground.path / f"{key}.npz") as archive:
                names = archive.namelist()
                arrays = bool(names) and all(name.endswith(".npy") for name in names)
                return arrays and archive.testzip() is None
        except (OSError, BadZipFile):
            return False

    def _compute(self, job: Job, key: str) -> None:
        self._ground.forget_failure(key)
        wanted = _reference_job(job)
        reason = self._foreseen(wanted) or self._launch(wanted)
        if not self._has(key):
            reason = self._ground.keep_failure(key, reason)
            self._ground.note(
                f"no reference of {_what(job)}, so its outputs are not verified: {reason}"
            )

    def _foreseen(self, wanted: Job) -> str | None:
        """Why there is no use in trying: a model that fits in int8 may not in fp32."""
        lack = shortage(wanted.cells[0], wanted.model, wanted.limits, self._memory_bytes)
        return lack and f"predicted: in fp32 on the CPU it {lack}"

    def _launch(self, wanted: Job) -> str:
        self._ground.note(f"computing the fp32 reference of {_what(wanted)}")
        return self._ground.launch(wanted)


def _what(job: Job) -> str:
    return f"{job.model.name} ({graph_kind(job.cells[0])})"


def _reference_job(job: Job) -> Job:
    first = job.cells[0]
    content = graph_kind(first)
    cell = Cell(
        model=first.model,
        backend=BACKEND,
        runtime="torch",
        precision="fp32",
        batch_size=1,
        sequence_length=first.sequence_length,
        mode="generation" if content == "generation" else "inference",
    )
    return job.model_copy(
        update={
            "id": f"reference-{first.model}-{content}",
            "cells": (cell,),
            "purpose": "reference",
            "trace": False,
            "round": 1,
        }
    )
