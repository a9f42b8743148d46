"""`database` as a user types it, on a folder that a run has left."""

import json
import shutil
from pathlib import Path

import pytest

from tests.support.command_line import complains, files
from tests.support.workplace import Workplace


@pytest.fixture
def mine(measured: Workplace, tmp_path: Path) -> Workplace:
    """A copy of a folder with a finished run, one of whose three cells failed."""
    shutil.copytree(measured.folder, tmp_path, dirs_exist_ok=True)
    return Workplace(tmp_path, "process")


@pytest.mark.slow
def test_a_compacted_run_is_shown_resumed_and_merged_as_before(mine: Workplace) -> None:
    before, run_id = mine.verdicts(), mine.run_folder.name
    done = mine.do("database", "compact")
    assert done.returncode == 0, done.stderr
    assert f"{run_id}: 3 record files of " in done.stdout
    assert [path.name[:8] for path in mine.run_folder.glob("records/*.parquet")] == ["compact-"]
    complains(mine.do("run", "--resume", "last", "--scratch"), 3, "a verdict for each")
    assert mine.do("status", "last").returncode == 0
    (mine.folder / "results/benchmarks.duckdb").unlink()
    done = mine.do("merge", "results", "--scratch")
    assert done.stdout.startswith("3 inserted, 0 replaced, 0 unchanged\n")
    assert mine.verdicts() == before


def test_a_run_is_listed_and_goes_with_yes_alone(mine: Workplace) -> None:
    before, run_id = files(mine.folder / "results"), mine.run_folder.name
    done = mine.do("database", "drop", "--keep-runs", "0")
    assert (done.returncode, run_id in done.stdout) == (0, True)
    assert "1 run to drop; `--yes` does it" in done.stdout
    assert files(mine.folder / "results") == before
    report = json.loads(mine.do("database", "drop", run_id, "--yes", "--json").stdout)
    assert (report["dropped"], [run["run_id"] for run in report["runs"]]) == (True, [run_id])
    assert not (mine.folder / "results" / run_id).exists()
    assert mine.ask("SELECT * FROM benchmark_runs") == []


@pytest.mark.slow
def test_a_snapshot_is_taken_listed_and_restored(mine: Workplace) -> None:
    before = mine.verdicts()
    done = mine.do("database", "snapshot", "first")
    assert (done.returncode, "-first: 3 results" in done.stdout) == (0, True)
    folder = Path(done.stdout.partition("database: ")[2].strip()).parent
    assert folder.name in mine.do("database", "snapshot", "--list").stdout
    assert mine.do("database", "drop", "--keep-runs", "0", "--yes").returncode == 0
    done = mine.do("database", "restore", "first")
    assert f"is now as it was in {folder.name}" in done.stdout
    assert "before: kept as snapshot " in done.stdout
    snapshots = json.loads(mine.do("database", "snapshot", "--list", "--json").stdout)
    assert [snapshot["name"] for snapshot in snapshots] == ["before-restore", "first"]
    assert mine.ask("SELECT count(*) AS n FROM benchmark_results") == [{"n": len(before)}]


@pytest.mark.parametrize(
    ("command", "code", "words"),
    [
        (["drop", "--yes"], 2, ["nothing says what to drop"]),
        (["drop", "--older-than", "soon"], 2, ["'soon' is not a duration"]),
        (["drop", "nobody"], 2, ["'nobody' is not a run"]),
        (["vacuum", "--results", "nowhere"], 6, ["there is no database yet"]),
        (["snapshot", "a/b"], 2, ["cannot name a snapshot"]),
        (["snapshot", "a", "--list"], 2, ["--list shows them all"]),
        (["restore", "nobody"], 2, ["'nobody' is not a snapshot", "none yet"]),
    ],
)
def test_what_makes_no_sense_is_refused(
    measured: Workplace, command: list[str], code: int, words: list[str]
) -> None:
    complains(measured.do("database", *command), code, *words)
    assert measured.do("database", "snapshot", "--list").stdout == "no snapshot yet\n"
