"""A plan as GitHub's `strategy.matrix`, or as a child pipeline of GitLab."""

import shlex
from collections.abc import Sequence
from typing import Any

import yaml

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


_PACKAGE = '"${ACCELMATRIX_PACKAGE:-accelmatrix}"'
_BUNDLES = "bundles"
_HISTORY = (
    '"$CI_API_V4_URL/projects/$CI_PROJECT_ID/packages/generic/accelmatrix-history/1'
    '/benchmarks.duckdb"'
)
_CURL = 'curl --silent --show-error --header "JOB-TOKEN: $CI_JOB_TOKEN"'
_FETCH = f"""\
status=$({_CURL} --location --output history.duckdb --write-out '%{{http_code}}' \\
  {_HISTORY})
case "$status" in
  200) ;;
  404) rm -f history.duckdb ;;
  *) echo "the history cannot be fetched: HTTP $status"; exit 1 ;;
esac
"""
"""Only the answer that there is no such package means that no history has begun."""
_JUDGE = """\
if [ ! -f history.duckdb ]; then
  echo "There is no history yet: the first pipeline of the default branch begins it."
  exit 0
fi
judge() {
  orchestrator regress --baseline history.duckdb today.duckdb \\
    --threshold "${ACCELMATRIX_THRESHOLD:-5%}" "$@"
}
code=0
judge || code=$?
judge --output regressions.xml || true
if [ "$code" -eq 3 ]; then code=8; fi
exit "$code"
"""
_DROP = (
    "${ACCELMATRIX_KEEP_RUNS:+orchestrator database drop --yes"
    ' --keep-runs "$ACCELMATRIX_KEEP_RUNS" --database history.duckdb}'
)
_INCONCLUSIVE = 8
"""The exit code of `regress` that is a warning; that nothing was judged is one, too."""


def gitlab_pipeline(jobs: Sequence[PipelineJob], matrix: str, judge: Sequence[str] = ()) -> str:
    """The YAML of the pipeline, which `trigger: include: artifact:` takes.

    Each job installs this package (the variable `ACCELMATRIX_PACKAGE` names another version or an
    address), measures its cells and keeps a bundle of their records. The next one merges these and
    judges them by the history in the project's package registry, which the last one adds them to.
    `judge` are the tags of the runner that does both; none for any runner.
    """
    pipeline: dict[str, Any] = {"stages": ["measure", "judge", "remember"]}
    for job in jobs:
        pipeline[job.name] = _measuring(job, matrix)
    tags = {"tags": list(judge)} if judge else {}
    pipeline["judge"] = tags | _judging()
    pipeline["remember"] = tags | _remembering()
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


def _judging() -> dict[str, Any]:
    return {
        "stage": "judge",
        "when": "always",
        "script": [
            *_installed(""),
            f"orchestrator merge {_BUNDLES}/*.zip --database today.duckdb",
            "orchestrator database check --database today.duckdb",
            "orchestrator export --bundle run.zip --database today.duckdb",
            "orchestrator report run last --database today.duckdb --output report.html",
            _FETCH,
            _JUDGE,
        ],
        "allow_failure": {"exit_codes": [_INCONCLUSIVE]},
        "artifacts": {
            "when": "always",
            "paths": ["report.html", "run.zip"],
            "reports": {"junit": "regressions.xml"},
        },
    }


def _remembering() -> dict[str, Any]:
    """The job that adds to the history: one at a time, and those that wait stay in line.

    An upload replaces no earlier one, and a download takes the newest.
    """
    return {
        "stage": "remember",
        "rules": [{"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH", "when": "always"}],
        "resource_group": "accelmatrix-history",
        "script": [
            *_installed(""),
            _FETCH,
            "orchestrator merge run.zip --database history.duckdb",
            "orchestrator database check --database history.duckdb",
            _DROP,
            f"{_CURL} --fail --upload-file history.duckdb {_HISTORY}",
        ],
    }


def _installed(extras: str) -> list[str]:
    return [
        "python3 -m venv .accelmatrix",
        ". .accelmatrix/bin/activate",
        f"pip install --quiet {_PACKAGE}{extras}",
    ]
