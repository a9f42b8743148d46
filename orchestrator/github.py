"""A plan as GitHub Actions' `strategy.matrix` takes it by `fromJSON`."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator.errors import MatrixError
from orchestrator.plan import Plan
from orchestrator.schedule import JobPlan, schedule
from runner.cell import Backend

MAX_JOBS = 256
"""GitHub runs no more jobs than this for one matrix."""


def github_matrix(plan: Plan, labels: Mapping[Backend, Sequence[str]]) -> dict[str, Any]:
    """One entry per job: its id, what runs in it, the runner's labels and the globs of its cells.

    Raises:
        MatrixError: more jobs than GitHub takes, or a backend without runner labels.
    """
    jobs = sorted(schedule(plan, seed=0), key=lambda job: job.id)
    if len(jobs) > MAX_JOBS:
        raise MatrixError(
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
        raise MatrixError(
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
    mode = f"-{job.cells[0].mode}"
    prefix = f"{job.id.removesuffix(mode)}-b"
    neighbours = ids[bisect_left(ids, prefix) : bisect_left(ids, prefix + "\U0010ffff")]
    glob_selects = [name for name in neighbours if name.endswith(mode)]
    return [f"{prefix}*{mode}"] if glob_selects == own else own
