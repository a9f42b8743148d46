"""A child pipeline of GitLab: its jobs measure the plan's cells, and are judged by a history."""

import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from orchestrator.commands.measure.pipelines.files import gitlab_pipeline
from orchestrator.commands.measure.pipelines.jobs import MAX_JOBS, pipeline_jobs, split_judge
from orchestrator.planning.plan import make_plan
from tests.docs.command_line import parse
from tests.support.matrices import matrix_of

CURL = """
case "$*" in
  *--upload-file*) cp history.duckdb registry ;;
  *) if [ "$STATUS" = 200 ]; then cp registry history.duckdb; else echo none > history.duckdb; fi
     printf "$STATUS" ;;
esac
"""
ORCHESTRATOR = """
printf "%q " "$@" >> calls; echo >> calls
if [ "$1" = merge ]; then echo run >> history.duckdb; fi
if [ "$1" = regress ]; then exit "$VERDICT"; fi
"""


def pipeline_of(judge: list[str]) -> dict[str, Any]:
    axes = {"model": ["bert-tiny", "gpt2"], "backend": ["cpu", "mps"]}
    labels = {"cpu": ["bench1"], "mps": ["mac"]}
    jobs = pipeline_jobs(make_plan(matrix_of(axes)), labels, MAX_JOBS)  # type: ignore[arg-type]
    return dict(yaml.safe_load(gitlab_pipeline(jobs, "my matrix.yaml", judge)))


def execute(folder: Path, job: dict[str, Any], **variables: str) -> int:
    """Run a job's script as GitLab's runner does; returns its exit status."""
    programs = {
        "curl": CURL,
        "orchestrator": ORCHESTRATOR,
        "python3": "mkdir -p .accelmatrix/bin; touch .accelmatrix/bin/activate",
        "pip": "",
    }
    (folder / "bin").mkdir(exist_ok=True)
    for name, script in programs.items():
        (folder / "bin" / name).write_text(f"#!/bin/bash\n{script}\n")
        (folder / "bin" / name).chmod(0o755)
    known = {"PATH": f"{folder}/bin:/usr/bin:/bin", "VERDICT": "0", "STATUS": "200"}
    script = "\n".join(["set -eo pipefail", *job["script"]])
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=known | variables, check=False
    ).returncode


def test_the_pipeline_measures_on_tagged_runners_and_judges() -> None:
    pipeline = pipeline_of(["small"])
    assert pipeline.pop("stages") == ["measure", "judge", "remember"]
    judge, remember = pipeline.pop("judge"), pipeline.pop("remember")
    assert judge["tags"] == remember["tags"] == ["small"]
    assert judge["artifacts"]["reports"] == {"junit": "regressions.xml"}
    assert judge["allow_failure"] == {"exit_codes": [8]}
    assert [*pipeline] == ["cpu-bert-tiny", "cpu-gpt2", "mps-bert-tiny", "mps-gpt2"]
    mac = pipeline["mps-gpt2"]
    assert mac["tags"] == ["mac"]
    assert '"[cpu]"' in mac["script"][-2]
    for job in pipeline.values():
        call = parse(shlex.split(job["script"][-1])[1:])
        assert str(call["matrix"]) == "my matrix.yaml"
        assert call["launcher"] == ("process" if job["tags"] == ["mac"] else "docker")
        assert parse(shlex.split(job["after_script"][-1])[1:])["bundle"]
    assert "tags" not in pipeline_of([])["judge"]


@pytest.mark.parametrize(
    ("status", "verdict", "ended", "judged"),
    [
        ("404", "7", 0, False),
        ("500", "0", 1, False),
        ("200", "0", 0, True),
        ("200", "3", 8, True),
        ("200", "7", 7, True),
        ("200", "8", 8, True),
    ],
)
def test_only_a_missing_history_is_none(
    tmp_path: Path, status: str, verdict: str, ended: int, judged: bool
) -> None:
    (tmp_path / "registry").write_text("earlier\n")
    job = pipeline_of([])["judge"]
    assert execute(tmp_path, job, STATUS=status, VERDICT=verdict) == ended
    calls = [shlex.split(line) for line in (tmp_path / "calls").read_text().splitlines()]
    for call in calls:
        parse(call)
    assert ("regress" in [call[0] for call in calls]) == judged


def test_results_join_the_history_of_the_default_branch(tmp_path: Path) -> None:
    job = pipeline_of([])["remember"]
    assert job["resource_group"]
    assert "$CI_DEFAULT_BRANCH" in job["rules"][0]["if"]
    assert execute(tmp_path, job, STATUS="404") == 0
    assert execute(tmp_path, job, ACCELMATRIX_KEEP_RUNS="100") == 0
    assert (tmp_path / "registry").read_text() == "run\nrun\n"
    assert execute(tmp_path, job, STATUS="503") == 1
    assert (tmp_path / "registry").read_text() == "run\nrun\n"
    kept = [
        line for line in (tmp_path / "calls").read_text().splitlines() if "database drop" in line
    ]
    assert [parse(shlex.split(line))["keep_runs"] for line in kept] == [100]


def test_the_judge_has_labels_of_its_own() -> None:
    assert split_judge(["cpu=a,b", "judge=c, d"]) == (["cpu=a,b"], ["c", "d"])
    assert split_judge(["cpu=a"]) == (["cpu=a"], [])
