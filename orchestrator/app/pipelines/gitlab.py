"""A plan as a child pipeline of GitLab: a job for each kind of runner and model, then the merge."""

import shlex
from collections.abc import Sequence
from typing import Any

import yaml

from orchestrator.app.pipelines.jobs import PipelineJob

_PACKAGE = '"${ACCELMATRIX_PACKAGE:-accelmatrix}"'
_BUNDLES = "bundles"


def gitlab_pipeline(jobs: Sequence[PipelineJob], matrix: str) -> str:
    """The YAML of the pipeline, which `trigger: include: artifact:` takes.

    Each job installs this package (the variable `ACCELMATRIX_PACKAGE` names another version or an
    address), measures its cells and keeps a bundle of their records; the last one merges them.
    """
    pipeline: dict[str, Any] = {"stages": ["measure", "merge"]}
    for job in jobs:
        pipeline[job.name] = _measuring(job, matrix)
    pipeline["merge"] = _merging()
    return yaml.safe_dump(pipeline, sort_keys=False, width=1000)


def _measuring(job: PipelineJob, matrix: str) -> dict[str, Any]:
    selects = [f"--select={glob}" for glob in job.select]
    run = shlex.join(["orchestrator", "run", matrix, f"--launcher={job.runner.launcher}", *selects])
    extras = f'"[{",".join(job.extras)}]"' if job.extras else ""
    return {
        "stage": "measure",
        "tags": list(job.runner.labels),
        "timeout": f"{job.timeout_minutes} minutes",
        "script": [*_installed(extras), run],
        "after_script": [
            ". .accelmatrix/bin/activate",
            f"mkdir -p {_BUNDLES}",
            shlex.join(["orchestrator", "export", "--bundle", f"{_BUNDLES}/{job.name}.zip"]),
        ],
        "artifacts": {"when": "always", "paths": [f"{_BUNDLES}/"], "expire_in": "30 days"},
    }


def _merging() -> dict[str, Any]:
    return {
        "stage": "merge",
        "when": "always",
        "script": [
            *_installed(""),
            f"orchestrator merge {_BUNDLES}/*.zip",
            "orchestrator validate",
            "orchestrator report run last --output report.html",
        ],
        "artifacts": {"paths": ["report.html", "results/benchmarks.duckdb"]},
    }


def _installed(extras: str) -> list[str]:
    return [
        "python3 -m venv .accelmatrix",
        ". .accelmatrix/bin/activate",
        f"pip install --quiet {_PACKAGE}{extras}",
    ]
