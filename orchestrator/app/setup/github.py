"""A plan as GitHub Actions' `strategy.matrix` takes it by `fromJSON`."""

import math
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fnmatch import translate
from typing import Any

from orchestrator.backends.catalogue import CATALOGUE
from orchestrator.planning.plan import Plan
from orchestrator.planning.schedule import JobPlan, planned_jobs
from runner.contract.cell import Backend
from runner.contract.errors import UsageError

MAX_JOBS = 256
"""GitHub runs no more jobs than this for one matrix."""
RUNNER_LABELS: Mapping[Backend, Sequence[str]] = {
    backend: spec.runner_labels for backend, spec in CATALOGUE.items()
}
"""Labels of the self-hosted runners that have each backend's device."""


def github_matrix(
    plan: Plan, labels: Mapping[Backend, Sequence[str]] = RUNNER_LABELS
) -> dict[str, Any]:
    """One entry per job: its id, what runs in it, the runner's labels and the globs of its cells.

    Raises:
        UsageError: more jobs than GitHub takes, or a backend without runner labels.
    """
    jobs = planned_jobs(plan)
    if len(jobs) > MAX_JOBS:
        raise UsageError(
            f"the plan has {len(jobs):,} jobs; GitHub takes at most {MAX_JOBS} in one matrix",
            hint="narrow it with --select, or split the matrix into several files",
        )
    ids = sorted(entry.cell.id for entry in plan.entries)
    return {"include": [_entry(job, ids if plan.whole else [], labels) for job in jobs]}


def _entry(
    job: JobPlan, ids: Sequence[str], labels: Mapping[Backend, Sequence[str]]
) -> dict[str, Any]:
    cell = job.cells[0]
    if not labels.get(cell.backend):
        raise UsageError(
            f"no runner label is known for backend {cell.backend}",
            hint=f"leave it out with --select '!{cell.backend}-*'",
        )
    return {
        "job": job.id,
        "backend": cell.backend,
        "model": cell.model,
        "precision": cell.precision,
        "runs-on": list(labels[cell.backend]),
        "select": _select(job, ids),
        "cells": len(job.cells),
        "estimate_minutes": math.ceil(job.estimate_s / 60),
    }


def _select(job: JobPlan, ids: Sequence[str]) -> list[str]:
    """One glob if it selects this job's cells and no other id of the matrix; else the ids."""
    own = sorted(cell.id for cell in job.cells)
    if own == [job.id]:
        return own
    mode = job.cells[0].mode
    stem = job.id.removesuffix(mode)
    neighbours = ids[bisect_left(ids, stem) : bisect_left(ids, stem + "\U0010ffff")]
    for glob in (f"{stem}b*-{mode}", f"{stem}*{mode}*"):
        matches = re.compile(translate(glob)).match
        if [name for name in neighbours if matches(name)] == own:
            return [glob]
    return own
