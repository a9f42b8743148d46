"""Fp32 references of outputs: computed once per model and seed, kept for all runs."""

from pathlib import Path
from typing import get_args

from orchestrator.planning.memory import shortage
from orchestrator.running.artifacts.cache import (
    ARTIFACT_BACKEND,
    ArtifactCache,
    is_reference,
    reason_in,
    reference_names,
    take_file,
    versions_of,
)
from orchestrator.running.execute_job import Availability, LaunchContext
from orchestrator.screen.words.reasons import reason_text
from runner.contract.artifact_keys import REFERENCES, Versions, reference_key, tells_of
from runner.contract.cell import Cell, Precision
from runner.contract.graph import FAILED_SUFFIX, reference_kind
from runner.contract.job import Job
from runner.contract.reasons import Reason, reason

REFERENCES_FOLDER = "references"


def is_verified(cell: Cell) -> bool:
    """True if this cell's outputs can be compared; the fake backend computes none."""
    return cell.backend != "fake"


class References:
    """The references of one results folder, each computed when a run first needs it."""

    def __init__(
        self, context: LaunchContext, availability: Availability, memory_bytes: int | None = None
    ) -> None:
        """`memory_bytes`: host memory that a job may use without limits; None if nobody knows."""
        path = context.folder.path.parent / REFERENCES_FOLDER
        self._cache = ArtifactCache(path, context, availability)
        self._planned = context.folder.cells
        self._in_images = context.launcher.needs_images
        self._memory_bytes = memory_bytes
        self._tried: set[str] = set()
        self._versions: Versions | None = None

    def ensure(self, job: Job) -> tuple[Job, Path | None]:
        """The job with its reference named, and the folder of all references.

        The folder is None if the job verifies nothing. A reference that cannot be computed is
        tried once in a run. The reason then lies in its place, where the runner reads it, until a
        later run tries again.
        """
        if job.purpose not in {"measure", "verify"} or not is_verified(job.cells[0]):
            return job, None
        job, path = self._named(job), self._cache.open()
        key = str(job.reference)
        if key not in self._tried and not self._tells(key, job.cells[0].precision):
            self._compute(job, key)
        self._tried.add(key)
        return job, path

    def _named(self, job: Job) -> Job:
        if self._versions is None:
            self._versions = versions_of(REFERENCES, in_images=self._in_images)
        kind = reference_kind(job.cells[0])
        key = reference_key(job.model, kind, job.weights_seed, self._versions)
        return job.model_copy(update={"reference": key})

    def _has(self, key: str) -> bool:
        """True if it is there and whole: what is damaged is computed anew."""
        return is_reference(self._file(key))

    def _tells(self, key: str, precision: Precision) -> bool:
        names = reference_names(self._file(key))
        return names is not None and tells_of(names, precision)

    def _honest(self, job: Job, key: str) -> tuple[Precision, ...]:
        """The precisions that the plan compares with it, and those that it told of before."""
        content = reference_kind(job.cells[0])
        planned = {
            cell.precision
            for cell in (*self._planned, *job.cells)
            if cell.model == job.model.name and reference_kind(cell) == content
        }
        names = reference_names(self._file(key)) or ()
        earlier = (one for one in get_args(Precision) if tells_of(names, one))
        return tuple(sorted({*planned, *earlier} - {"fp32"}))

    def _file(self, key: str) -> Path:
        return self._cache.path / f"{key}.npz"

    def _compute(self, job: Job, key: str) -> None:
        self._cache.forget_failure(key)
        computation = _reference_job(job).model_copy(update={"honest": self._honest(job, key)})
        explanation = self._predicted(computation) or self._launch(computation, key)
        if not self._has(key):
            self._cache.keep_failure(key, explanation)
            subject = f"no reference of {_describe(job)}, so its outputs are not verified"
            self._cache.note(f"{subject}: {reason_text(explanation)}", explanation)

    def _predicted(self, computation: Job) -> Reason | None:
        """The reason not to try, if any: a model that fits in int8 may not in fp32."""
        cell, limits = computation.cells[0], computation.limits
        lack = shortage(cell, computation.model, limits, self._memory_bytes)
        return lack and reason("predicted_in_fp32", cause=lack)

    def _launch(self, computation: Job, key: str) -> Reason:
        self._cache.note(f"computing the fp32 reference of {_describe(computation)}")

        def take(out: Path) -> Reason | None:
            file = self._file(key).name
            if is_reference(out / file):
                take_file(out / file, self._file(key))
            return reason_in(out / f"{key}{FAILED_SUFFIX}")

        return self._cache.launch(computation, take)


def _describe(job: Job) -> str:
    return f"{job.model.name} ({reference_kind(job.cells[0])})"


def _reference_job(job: Job) -> Job:
    first = job.cells[0]
    content = reference_kind(first)
    cell = Cell(
        model=first.model,
        backend=ARTIFACT_BACKEND,
        runtime="torch",
        precision="fp32",
        batch_size=1,
        sequence_length=first.sequence_length,
        mode="inference" if content == "forward" else content,
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
