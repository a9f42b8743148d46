"""The history of a benchmark pipeline: no failure of GitHub's loses results or opens the gate."""

import shutil
from pathlib import Path

import pytest

from orchestrator.store.store import Store
from tests.docs.command_line import parse
from tests.docs.workspace import REAL, Workspace, benchmark_script, exit_status, step_script
from tests.support.comparable import FIRST, SECOND, write_comparable
from tests.support.workplace import Workplace

DOWNLOAD = step_script(".github/actions/history/action.yml", "Download the history")
COMMENT = step_script(".github/actions/comment/action.yml", "Comment on the pull request")
SUBMIT = benchmark_script("Put the results beside the history")
ADD = benchmark_script("Add to the history")
TAG = "benchmark-history"
RELEASE = Path("github/releases", TAG)
BOT = "github-actions[bot]"
MERGING = """
case "$1" in
  merge) cat history/*.zip >> history/benchmarks.duckdb;;
  database) printf "%q " "$@" >> calls; echo >> calls;;
esac
"""
"""A stand-in for the orchestrator whose databases have a line for each bundle that was merged."""


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.prepare(MERGING)
    return made


def release(workspace: Workspace, **assets: str) -> Path:
    """A release with these assets; `__` in a name stands for `-`."""
    folder = workspace.folder / RELEASE
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in assets.items():
        (folder / name.replace("__", "-").replace("_dot_", ".")).write_text(text)
    return folder


def break_calls(workspace: Workspace, *parts: str) -> None:
    """Let calls of `gh` that have one of these words fail."""
    (workspace.folder / "github").mkdir(exist_ok=True)
    (workspace.folder / "github" / "broken").write_text("".join(f"{part}\n" for part in parts))


def fetched(workspace: Workspace, *, waiting: bool = False) -> tuple[str | None, str]:
    """The content of the database that is downloaded, and the generation."""
    shutil.rmtree(workspace.folder / "history", ignore_errors=True)
    (workspace.folder / "output").unlink(missing_ok=True)
    workspace.execute(DOWNLOAD, WAITING=str(waiting).lower())
    database = workspace.folder / "history/benchmarks.duckdb"
    output = (workspace.folder / "output").read_text().strip()
    return database.read_text() if database.exists() else None, output.removeprefix("generation=")


def submit(workspace: Workspace, run: int) -> None:
    (workspace.folder / "run.zip").write_text(f"{run}\n")
    workspace.execute(SUBMIT, GITHUB_RUN_ID=str(run))


def remember(workspace: Workspace, **variables: str) -> list[list[str]]:
    """The job that adds to the history; returns what it asks of `database`."""
    _, generation = fetched(workspace, waiting=True)
    return workspace.execute(ADD, GENERATION=generation, **variables)


def test_the_newest_whole_database_is_the_history(workspace: Workspace) -> None:
    assert fetched(workspace) == (None, "000000")
    release(workspace)
    assert fetched(workspace) == (None, "000000")
    names = ("benchmarks__000009_dot_duckdb", "benchmarks__000010_dot_duckdb", "notes_dot_txt")
    release(workspace, **dict.fromkeys(names, "old"))
    release(workspace, benchmarks__000010_dot_duckdb="new")
    assert fetched(workspace) == ("new", "000010")
    release(workspace, benchmarks__000011_dot_duckdb_dot_starter="cut off")
    assert fetched(workspace) == ("new", "000011")


@pytest.mark.parametrize("call", ["api repos", "release download"])
def test_a_history_that_does_not_come_is_no_missing_one(workspace: Workspace, call: str) -> None:
    release(workspace, benchmarks__000001_dot_duckdb="known")
    break_calls(workspace, call)
    assert exit_status(workspace, DOWNLOAD) != 0
    assert exit_status(workspace, DOWNLOAD.replace("WAITING", "NOTHING"), NOTHING="true") != 0


def test_results_of_a_job_that_another_one_ended_join_with_the_next(workspace: Workspace) -> None:
    submit(workspace, 1)
    assert remember(workspace)
    submit(workspace, 2)  # whose job waits, and is ended by that of the third
    submit(workspace, 3)
    assert remember(workspace)
    assert fetched(workspace) == ("1\n2\n3\n", "000002")
    assert remember(workspace) == []  # that of the second, started again by hand
    assert not [*(workspace.folder / RELEASE).glob("run-*")]


@pytest.mark.slow
def test_a_failure_at_any_call_loses_nothing(workspace: Workspace) -> None:
    submit(workspace, 1)
    remember(workspace)
    for run, call in enumerate(("release upload", "release delete-asset", "release download"), 2):
        submit(workspace, run)
        fetched(workspace, waiting=True)
        break_calls(workspace, call)
        if call == "release download":
            assert exit_status(workspace, DOWNLOAD, WAITING="true") != 0
        else:
            output = (workspace.folder / "output").read_text().strip()
            assert exit_status(workspace, ADD, GENERATION=output.removeprefix("generation=")) != 0
        break_calls(workspace)
        content, _ = fetched(workspace)
        assert content is not None
        assert content.startswith("1\n")
    remember(workspace)
    content, _ = fetched(workspace)
    assert content is not None
    assert {*content.split()} == {"1", "2", "3", "4"}


@pytest.mark.slow
def test_two_older_databases_stay_and_retention_is_asked_for(workspace: Workspace) -> None:
    names = [f"benchmarks-00000{number}.duckdb" for number in range(1, 7)]
    for name in names[:3]:
        (release(workspace) / name).touch()
    submit(workspace, 4)
    (asked,) = remember(workspace)
    assert "--yes" not in asked
    submit(workspace, 5)
    _, asked = remember(workspace, KEEP_RUNS="100")
    assert (parse(asked)["keep_runs"], parse(asked)["yes"]) == (100, True)
    assert sorted(path.name for path in release(workspace).iterdir()) == names[2:5]
    submit(workspace, 6)
    _, asked = remember(workspace, DROP_OLDER_THAN="90d")
    assert (parse(asked)["older_than"], parse(asked)["yes"]) == (90 * 86_400, True)


def test_a_submission_fails_if_the_release_cannot_be_reached(workspace: Workspace) -> None:
    release(workspace, benchmarks__000001_dot_duckdb="known")
    (workspace.folder / "run.zip").touch()
    break_calls(workspace, "release view")
    assert exit_status(workspace, SUBMIT) != 0
    break_calls(workspace)
    assert exit_status(workspace, SUBMIT) == 0
    assert "release create" in (workspace.folder / "github" / "calls").read_text()


def test_a_comment_is_written_once_updated_then_and_others_stay(workspace: Workspace) -> None:
    theirs = [
        "somebody\n<!-- accelmatrix: benchmark -->\nfaked\n",
        f"{BOT}\nof another program\n",
        f"{BOT}\n<!-- accelmatrix: pull request -->\nof another workflow\n",
    ]
    folder = workspace.folder / "github/comments"
    folder.mkdir(parents=True)
    for number, text in enumerate(theirs, 1):
        (folder / str(number)).write_text(text)

    def commented() -> list[str]:
        workspace.execute(COMMENT, NAME="benchmark")
        return [path.read_text() for path in sorted(folder.iterdir())]

    assert commented() == theirs  # nothing to say
    for words in ("first", "second"):
        (workspace.folder / "comment.md").write_text(f"{words}\n")
        assert commented() == [*theirs, f"{BOT}\n<!-- accelmatrix: benchmark -->\n{words}\n"]
    calls = (workspace.folder / "github/calls").read_text().splitlines()
    assert [call.split()[2] for call in calls if "--method" in call] == ["POST", "PATCH"]
    break_calls(workspace, "issues/12/comments")
    assert exit_status(workspace, COMMENT, NAME="benchmark") != 0


def judging(folder: Path, *, history: str | None, measured: str) -> Workspace:
    """The folder of the job that judges: a run's bundle, and a release with the history if any."""
    write_comparable(folder)
    workspace = Workspace(folder)
    workspace.prepare(REAL)
    (folder / "bundles").mkdir()
    place = Workplace(folder, "process")
    own = ("--database", "benchmarks.duckdb")
    place.do("export", "--bundle", "bundles/a.zip", "--run", measured, *own).check_returncode()
    if history is not None:
        place.do("export", "--bundle", "earlier.zip", "--run", history, *own).check_returncode()
        name = release(workspace) / "benchmarks-000001.duckdb"
        place.do("merge", "earlier.zip", "--database", str(name)).check_returncode()
    workspace.execute(benchmark_script("Collect"))
    workspace.execute(DOWNLOAD)
    return workspace


@pytest.mark.slow
def test_a_pull_request_that_is_slower_fails_and_says_which_cell(tmp_path: Path) -> None:
    workspace = judging(tmp_path, history=FIRST, measured=SECOND)
    assert exit_status(workspace, benchmark_script("Judge")) == 7
    comment = (tmp_path / "comment.md").read_text("utf-8")
    assert "became slower" in comment.splitlines()[0]
    cell = "bert-tiny, cpu, torch, fp32, batch 1, 128 tokens, inference"
    for words in (cell, "Example CPU, 2 cores", "+47 %", "torch 2.13.0, now 2.14.0"):
        assert words in comment
    assert (tmp_path / "summary").read_text("utf-8") == comment
    assert "<failure" in (tmp_path / "regressions.xml").read_text("utf-8")


@pytest.mark.nightly
def test_results_join_the_history_once_however_often_they_are_added(tmp_path: Path) -> None:
    workspace = judging(tmp_path, history=FIRST, measured=SECOND)
    workspace.execute(SUBMIT)
    bundle = (tmp_path / RELEASE / "run-7-1.zip").read_bytes()
    for generation in ("000001", "000002"):
        workspace.execute(DOWNLOAD, WAITING="true")
        workspace.execute(ADD, GENERATION=generation)
        (tmp_path / RELEASE / "run-7-1.zip").write_bytes(bundle)
    with Store.open_readonly(tmp_path / RELEASE / "benchmarks-000003.duckdb") as store:
        assert {run.run_id for run in store.runs()} == {FIRST, SECOND}
