"""A plan as GitHub Actions' `strategy.matrix` takes it by `fromJSON`."""

from collections.abc import Sequence
from typing import Any

from orchestrator.commands.measure.pipelines.jobs import PipelineJob


def github_matrix(jobs: Sequence[PipelineJob]) -> dict[str, Any]:
    """One entry per job: its name, its runner's labels, the globs of its cells and its time."""
    return {"include": [_entry(job) for job in jobs]}


def _entry(job: PipelineJob) -> dict[str, Any]:
    return {
        "job": job.name,
        "backends": list(job.backends),
        "runs-on": list(job.runner.labels),
        "launcher": job.runner.launcher,
        "extras": ",".join(job.extras),
        "select": list(job.select),
        "cells": job.cells,
        "estimate_minutes": job.estimate_minutes,
        "timeout-minutes": job.timeout_minutes,
    }
