"""Fp32 references of outputs: computed once per model and seed, kept for all runs."""

from collections.abc import Collection
from pathlib import Path
from typing import get_args

from orchestrator.planning.memory import shortage
from orchestrator.running.artifacts.cache import (
    ARTIFACT_BACKEND,
    ArtifactCache,
    is_reference,
    preparation_limits,
    reason_in,
    reference_names,
    take_file,
)
from orchestrator.running.execute_job import Availability, LaunchContext
from orchestrator.screen.words.reasons import reason_text
from runner.contract.artifact_keys import REFERENCES, reference_key, tells_of
from runner.contract.axes import Precision
from runner.contract.cell import Cell
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
        self._memory_bytes = memory_bytes
        self._tried: set[str] = set()

    def ensure(self, job: Job) -> tuple[Job, Path | None]:
        """The job with its reference named, and the folder of all references.

        The folder is None if the job verifies nothing. A reference that cannot be computed is
        tried once in a run. The reason then lies in its place, where the runner reads it, until a
        later run tries again.
        """
        if job.purpose not in {"measure", "verify"} or not is_verified(job.cells[0]):
            return job, None
        first, path = job.cells[0], self._cache.open()
        versions = self._cache.versions(REFERENCES)
        key = reference_key(job.model, reference_kind(first), job.weights_seed, versions)
        job = job.model_copy(update={"reference": key})
        if key not in self._tried:
            names = reference_names(self._file(key))
            if names is None or not tells_of(names, first.precision):
                self._compute(job, key, names or ())
            self._tried.add(key)  # not where the engine went away
        return job, path

    def _honest(self, job: Job, names: Collection[str]) -> tuple[Precision, ...]:
        """The precisions that the plan compares with it, and those that it told of before."""
        content = reference_kind(job.cells[0])
        planned = {
            cell.precision
            for cell in (*self._planned, *job.cells)
            if cell.model == job.model.name and reference_kind(cell) == content
        }
        earlier = (one for one in get_args(Precision) if tells_of(names, one))
        return tuple(sorted({*planned, *earlier} - {"fp32"}))

    def _file(self, key: str) -> Path:
        return self._cache.path / f"{key}.npz"

    def _compute(self, job: Job, key: str, names: Collection[str]) -> None:
        """Compute a reference that tells too little, as it has these names alone, or is none."""
        self._cache.forget_failure(key)
        computation = _reference_job(job).model_copy(update={"honest": self._honest(job, names)})
        cell, limits = computation.cells[0], computation.limits
        subject = f"{job.model.name} ({reference_kind(job.cells[0])})"
        if lack := shortage(cell, computation.model, limits, self._memory_bytes):
            explanation = reason(
                "predicted_in_fp32", cause=lack
            )  # int8 may fit where fp32 does not
        else:
            self._cache.note(f"computing the fp32 reference of {subject}")
            explanation = self._launch(computation, key)
        if not is_reference(self._file(key)):
            self._cache.keep_failure(key, explanation)
            lead = f"no reference of {subject}, so its outputs are not verified"
            self._cache.note(f"{lead}: {reason_text(explanation)}", explanation)

    def _launch(self, computation: Job, key: str) -> Reason:
        def take(out: Path) -> Reason | None:
            file = self._file(key).name
            if is_reference(out / file):
                take_file(out / file, self._file(key))
            return reason_in(out / f"{key}{FAILED_SUFFIX}")

        return self._cache.launch(computation, take)


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
            "limits": preparation_limits(job),
            "purpose": "reference",
            "trace": False,
            "round": 1,
        }
    )
