"""`status` and `database check` as a user types them."""

import json
from pathlib import Path

import duckdb
import pytest

from tests.support.command_line import complains
from tests.support.workplace import Workplace


@pytest.fixture
def damaged(measured: Workplace, tmp_path: Path) -> Path:
    """A copy of the database with one impossible value."""
    path = tmp_path / "damaged.duckdb"
    path.write_bytes(next(measured.folder.glob("results/*.duckdb")).read_bytes())
    with duckdb.connect(path) as connection:
        connection.execute(
            "UPDATE benchmark_results SET memory_peak_bytes = -1 WHERE batch_size = 1"
        )
    return path


def test_what_was_measured_is_clean(measured: Workplace) -> None:
    done = measured.do("database", "check")
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("benchmarks.duckdb: clean, 1 note\n")


def test_errors_are_told_and_end_with_1(measured: Workplace, damaged: Path) -> None:
    done = measured.do("database", "check", "--database", str(damaged))
    assert done.returncode == 1
    assert done.stdout.splitlines()[1].split()[:3] == ["impossible", "value", "error"]
    assert "memory_peak_bytes is -1" in done.stdout
    assert done.stdout.endswith(f"{damaged}: 1 error, 1 note\n")


@pytest.mark.slow
def test_a_fix_mends_from_the_record_files_and_tells_the_copy(
    measured: Workplace, damaged: Path
) -> None:
    done = measured.do("database", "check", "--fix", "--database", str(damaged))
    assert done.returncode == 0, done.stdout
    (backup,) = damaged.parent.glob("damaged.duckdb.before-fix-*")
    assert f"as it was before: {backup}" in done.stdout
    assert "mended: 1 row, taken from record files" in done.stdout
    assert done.stdout.endswith(f"{damaged}: clean, 1 note\n")


@pytest.mark.slow
def test_without_record_files_the_row_goes_into_quarantine(
    measured: Workplace, damaged: Path, tmp_path: Path
) -> None:
    elsewhere = ("--results", str(tmp_path / "elsewhere"), "--database", str(damaged))
    done = measured.do("database", "check", "--fix", "--json", *elsewhere)
    data = json.loads(done.stdout)
    assert (done.returncode, data["clean"], data["quarantined"], data["mended"]) == (0, True, 1, {})
    assert Path(data["backup"]).exists()
    notes = {finding["check"]: finding for finding in data["findings"]}
    assert "memory_peak_bytes is -1" in notes["in quarantine"]["examples"][0]
    merged = measured.do("merge", "results", "--scratch", "--database", str(damaged))
    assert merged.stdout.splitlines()[0] == "0 inserted, 0 replaced, 2 unchanged, 1 in quarantine"


def test_status_shows_the_database_and_the_verdicts_of_one_run(measured: Workplace) -> None:
    run_id = measured.run_folder.name
    status = json.loads(measured.do("status", "--json").stdout)
    (run,) = status["runs"]
    assert (run["run_id"], run["counts"]) == (run_id, {"failed": 1, "ok": 2})
    assert status["parquet_files"] == status["rows"]["benchmark_results"] == 3
    (covered,) = status["covered"]
    assert (covered["backend"], covered["best"], covered["results"]) == ("fake", "unverified", 3)
    assert run_id in measured.do("status").stdout
    for name in ("last", run_id):
        results = json.loads(measured.do("status", name, "--json").stdout)["results"]
        assert len(results) == 3


def test_an_unknown_run_has_no_status(measured: Workplace) -> None:
    complains(measured.do("status", "nobody"), 2, "'nobody' is not a run")


@pytest.mark.parametrize(
    "command", [["status"], ["status", "last"], ["database", "check"], ["query", "SELECT 1"]]
)
def test_without_a_database_there_is_nothing_to_tell(place: Workplace, command: list[str]) -> None:
    complains(place.do(*command), 6, "benchmarks.duckdb: there is no database yet")
    assert not (place.folder / "results").exists()
