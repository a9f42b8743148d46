"""The files of an example repository on GitHub: they fit each other, and their steps work."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from orchestrator.commands.measure.pipelines.jobs import (
    MAX_JOBS,
    parse_runner_labels,
    pipeline_jobs,
)
from orchestrator.matrix import load_matrix
from orchestrator.planning.plan import make_plan
from tests.conftest import ROOT
from tests.docs.command_line import parse
from tests.docs.workspace import NOTE_CALLS, PYTHON, Workspace, exit_status, step_script

FOLDER = "docs/examples/github"
SIDE_BY_SIDE = step_script(f"{FOLDER}/pull-request.yml", "Measure both side by side")
BY_PROCESSES = f"""
if [ "$1" = run ]; then exec {PYTHON} -m orchestrator "$@" --launcher process; fi
exec {PYTHON} -m orchestrator "$@"
"""


def test_the_example_is_planned_for_the_runners_that_it_names() -> None:
    workflow = yaml.safe_load((ROOT / FOLDER / "benchmark.yml").read_text("utf-8"))
    inputs = workflow["jobs"]["benchmark"]["with"]
    labels = parse_runner_labels(inputs["runs-on"].splitlines())
    plan = make_plan(load_matrix(ROOT / FOLDER / inputs["matrix"]))
    (job,) = pipeline_jobs(plan, labels, MAX_JOBS)
    assert (job.name, job.cells) == ("cpu-encoder", 2)
    assert job.runner.labels == ("self-hosted", "bench1")


def test_a_push_to_main_ends_no_run_of_another_one() -> None:
    text = (ROOT / FOLDER / "benchmark.yml").read_text("utf-8")
    concurrency = yaml.safe_load(text)["concurrency"]
    assert "github.run_id" in concurrency["group"]
    assert concurrency["cancel-in-progress"] == "${{ github.event_name == 'pull_request' }}"


def test_a_fork_reaches_no_runner_unless_the_caller_says_so() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/benchmark.yml").read_text("utf-8"))
    own = "github.event.pull_request.head.repo.full_name == github.repository"
    condition = workflow["jobs"]["measure"]["if"]
    assert f"(inputs.forks || github.event.pull_request.number == null || {own})" in condition
    assert workflow[True]["workflow_call"]["inputs"]["forks"]["default"] is False
    example = yaml.safe_load((ROOT / FOLDER / "pull-request.yml").read_text("utf-8"))
    assert own in example["jobs"]["measure"]["if"]


@pytest.mark.parametrize(
    ("code", "verdict", "ended"),
    [(0, "judged", 0), (3, "judged", 0), (3, None, 0), (7, "judged", 7), (8, "judged", 0)],
)
def test_a_pull_request_is_measured_beside_its_base(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], code: int, verdict: str | None, ended: int
) -> None:
    workspace = Workspace(tmp_path)
    (tmp_path / "comment.md").write_text("of an earlier job on this runner")
    write = "" if verdict is None else f"echo {verdict} > comment.md; "
    reason = "echo error: base/matrix.yaml has the same models >&2"
    workspace.prepare(f"{NOTE_CALLS}; {write}{reason}; exit {code}")
    assert exit_status(workspace, SIDE_BY_SIDE) == ended
    assert ("::warning::" in capfd.readouterr().out) == (code in (3, 8))
    comment = (tmp_path / "comment.md").read_text()
    assert (tmp_path / "summary").read_text() == comment
    if verdict is None:
        assert "**Nothing was compared.**" in comment
        assert "> base/matrix.yaml has the same models" in comment
    else:
        assert comment == f"{verdict}\n"
    asked = parse(shlex.split((tmp_path / "calls").read_text()))
    assert (
        str(asked["matrix"]),
        asked["compare_to"],
        asked["interleave"],
        str(asked["output"]),
    ) == ("head/matrix.yaml", "base/matrix.yaml", True, "comment.md")
    job = yaml.safe_load((ROOT / FOLDER / "pull-request.yml").read_text("utf-8"))["jobs"]["measure"]
    assert 0 < asked["budget_s"] < 60 * job["timeout-minutes"]


@pytest.mark.slow
def test_a_commit_that_changes_no_model_is_no_silent_success(tmp_path: Path) -> None:
    assert exit_status(two_commits(tmp_path, layers=10), SIDE_BY_SIDE) == 0
    comment = (tmp_path / "comment.md").read_text()
    assert "**Nothing was compared.**" in comment
    assert "> base/matrix.yaml has the same models" in comment


@pytest.mark.nightly
@pytest.mark.quiet
@pytest.mark.timeout(3600)
def test_a_commit_that_makes_a_model_a_tenth_slower_is_stopped(tmp_path: Path) -> None:
    assert exit_status(two_commits(tmp_path, layers=11), SIDE_BY_SIDE) == 7
    comment = (tmp_path / "comment.md").read_text("utf-8")
    assert comment.startswith("**Regression**")
    for words in ("encoder", "cpu", "torch", "fp32", "batch 1", "128 tokens", "process"):
        assert words in comment


def two_commits(folder: Path, *, layers: int) -> Workspace:
    """The folder of a job with base and head of a pull request, whose second commit changes the
    number of layers from ten to this."""
    repository = folder / "repository"
    shutil.copytree(ROOT / FOLDER, repository)
    (repository / "matrix.yaml").write_text(
        json.dumps(
            {
                "version": 1,
                "axes": {"model": "./models/encoder", "sequence_length": 128, "threads": 1},
                "measure": {"profile": "quick", "iterations": 20, "max_duration": "5s"},
            }
        )
    )
    path = repository / "models/encoder/config.json"
    git(repository, "init", "--quiet", "--initial-branch=main")
    for count in (10, layers):
        config = json.loads(path.read_text()) | {"num_hidden_layers": count}
        path.write_text(json.dumps(config))
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--allow-empty", f"--message={count} layers")
    for side, commit in (("base", "HEAD~1"), ("head", "HEAD")):
        git(repository, "worktree", "add", "--quiet", "--detach", str(folder / side), commit)
    workspace = Workspace(folder)
    workspace.prepare(BY_PROCESSES)
    return workspace


def git(folder: Path, *arguments: str) -> None:
    who = ("-c", "user.name=Somebody", "-c", "user.email=somebody@localhost")
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True)
