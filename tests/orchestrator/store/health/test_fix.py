"""What `--fix` does: mends, puts into quarantine, keeps a copy, and all of it or nothing."""

import json
import os
import random
import shutil
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from orchestrator.store.database.connect import wal_path
from orchestrator.store.health.fix import RECORDS, Validation, fix_database, validate_database
from orchestrator.store.health.validate import RETYPED
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.query.ask import query
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from tests.orchestrator.store.conftest import scalar
from tests.orchestrator.store.health.sound import (
    FIRST,
    NOW,
    TOGETHER,
    Damage,
    a_database_of_rows_to_harm,
    harm,
    harm_every_row,
    records,
    saved,
)
from tests.support.databases import after, content, done, killed, refused, script, time_of
from tests.support.records import RECORDED_AT

FIX = "print(fix_database(paths[0], None, now=datetime.fromisoformat(arguments[1])).quarantined)"
IMPORTS = "from datetime import datetime\nfrom orchestrator.store.health.fix import fix_database"
KEPT = (1, 3)
"""The groups of damages that the gate tries: those of the most checks."""


@pytest.fixture
def database(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path))


def held(database: Path) -> list[dict[str, Any]]:
    sql = "SELECT result_id, table_name, reason, content FROM quarantine ORDER BY ALL"
    found: list[dict[str, Any]] = query(database, sql).to_pylist()
    return found


@pytest.mark.slow
def test_what_is_wrong_with_rows_is_gone_after_a_fix(tmp_path: Path) -> None:
    database, results = tmp_path / "benchmarks.duckdb", tmp_path / "results"
    harm_every_row(database, a_database_of_rows_to_harm(database, results))
    _assert_fixed_for_good(database)

    kept = {row["result_id"] for row in held(database) if row["table_name"] == "benchmark_results"}
    gone = kept - _ids(database)
    with Store.open(database) as store:
        report = store.merge([results])
    assert gone.isdisjoint(_ids(database))
    assert report.quarantined == len({row for row in gone if not _is_foreign(str(row))})
    assert report.inserted == 2  # those that only their raw durations, or their jobs, were left of
    assert validate_database(database, now=NOW).errors == frozenset()


def _is_foreign(row: str) -> bool:
    return row.startswith(("copied/", "imported/"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "damages",
    [
        pytest.param(damages, marks=() if number in KEPT else pytest.mark.nightly)
        for number, damages in enumerate(TOGETHER)
    ],
    ids=lambda damages: damages[0].check,
)
def test_what_is_wrong_with_the_whole_is_gone_after_a_fix(
    database: Path, damages: Sequence[Damage]
) -> None:
    harm(database, ";".join(damage.sql for damage in damages))
    _assert_fixed_for_good(database)


def _assert_fixed_for_good(database: Path) -> None:
    damaged = content(database)
    fixed = fix_database(database, None, now=NOW)
    assert not fixed.errors, fixed.findings
    assert fixed.mended or fixed.quarantined
    assert fixed.backup is not None
    assert fixed.backup.name == "benchmarks.duckdb.before-fix-20261121T180000Z"
    assert content(fixed.backup) == damaged
    afterwards = content(database)
    again = fix_database(database, None, now=NOW)
    assert again == Validation(again.findings)
    assert not again.errors
    assert content(database) == afterwards


def _ids(database: Path) -> set[object]:
    rows = query(database, "SELECT result_id FROM benchmark_results").to_pylist()
    return {row["result_id"] for row in rows}


@pytest.mark.slow
def test_what_record_files_hold_is_taken_from_them(tmp_path: Path) -> None:
    database, results = tmp_path / "benchmarks.duckdb", tmp_path / "results"
    rows = a_database_of_rows_to_harm(database, results)
    before = content(database)
    ours = {
        damage: row
        for damage, row in rows.items()
        if damage.kind != "imported" and "copied" not in damage.sql
    }
    harm_every_row(database, ours)
    harm(database, "DELETE FROM hardware_info; DELETE FROM environments; DELETE FROM models")
    fixed = fix_database(database, results, now=NOW)
    assert not fixed.errors, fixed.findings
    assert fixed.mended[RECORDS] >= len(ours)
    assert fixed.quarantined == 0
    afterwards = content(database)
    for table in ("benchmark_results", "hardware_info", "raw_benchmark_data", "replay_jobs"):
        assert afterwards[table] == before[table]


@pytest.mark.slow
def test_a_sound_database_is_left_alone(database: Path) -> None:
    before = database.read_bytes()
    assert fix_database(database, None, now=NOW).backup is None
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.glob("*before-fix*")] == []


@pytest.mark.slow
def test_statistics_are_those_of_the_durations_again(database: Path) -> None:
    before = content(database)
    harm(
        database,
        f"""
        UPDATE benchmark_results SET latency_mean_s = 1, latency_median_s = NULL, iterations = 9,
            latency_stddev_s = 1, latency_cv = 1, throughput = 'nan'::DOUBLE
        WHERE result_id = '{FIRST}'
        """,
    )
    assert fix_database(database, None, now=NOW).quarantined == 0
    assert _rounded(content(database)) == _rounded(before)


def _rounded(tables: dict[str, list[tuple[object, ...]]]) -> list[tuple[object, ...]]:
    """Results to the rounding of doubles."""
    return [tuple(_digits(value) for value in row) for row in tables["benchmark_results"]]


def _digits(value: object) -> object:
    try:
        return f"{float(str(value)):.12g}"
    except ValueError:
        return value


@pytest.mark.slow
def test_durations_of_something_else_and_a_batch_that_the_cell_does_not_name_derive_nothing(
    database: Path,
) -> None:
    other = FIRST.replace("-b1-", "-b4-")
    harm(
        database,
        f"""
        UPDATE raw_benchmark_data SET durations_ns = [11, 12, 13] WHERE result_id = '{FIRST}';
        UPDATE benchmark_results SET batch_size = 8 WHERE result_id = '{other}'
        """,
    )
    fixed = fix_database(database, None, now=NOW)
    assert (dict(fixed.mended), fixed.quarantined) == ({}, 2)
    row, misnamed = held(database)
    assert (row["result_id"], misnamed["result_id"]) == (FIRST, other)
    kept = json.loads(str(row["content"]))
    assert kept["durations_ns"] == [11, 12, 13]
    assert kept["latency_median_s"] == 0.003


@pytest.mark.slow
def test_nothing_of_a_row_in_quarantine_is_lost(database: Path) -> None:
    row = query(database, f"FROM benchmark_results WHERE result_id = '{FIRST}'").to_pylist()[0]
    harm(
        database,
        "UPDATE benchmark_results SET status = 'fine', drift = 'nan'::DOUBLE"
        f" WHERE result_id = '{FIRST}'",
    )
    fix_database(database, None, now=NOW)
    (put,) = query(database, "FROM quarantine").to_pylist()
    kept = json.loads(put["content"])
    assert (put["table_name"], put["run_id"]) == ("benchmark_results", "described")
    assert (put["quarantined_at"], put["recorded_at"]) == (NOW, RECORDED_AT)
    assert put["reason"] == "impossible value: drift is nan; unknown word: status is fine"
    assert (kept["status"], kept["drift"]) == ("fine", "nan")
    assert kept["durations_ns"] == [2_000_001, 3_000_000, 4_000_000]
    assert kept["warmup_durations_ns"] == [5_000_000, 3_000_000]
    assert kept["job"] == '{"id": "as it was given"}'
    same = {name for name, value in row.items() if kept[name] == value}
    numbers = {name for name, value in row.items() if isinstance(value, int | float | str)}
    assert numbers - same == {"status"}
    assert kept["evidence"] == {"device": "cpu", "dtype": "torch.float32"}
    for table in ("raw_benchmark_data", "replay_jobs"):
        assert scalar(database, f"SELECT count(*) FROM {table} WHERE result_id = '{FIRST}'") == 0


@pytest.mark.slow
def test_quarantine_is_told_as_a_note_until_a_newer_record_of_the_cell_is_taken(
    database: Path, tmp_path: Path
) -> None:
    leftover = database.with_name(f".{database.name}.before-fix-20261121T170000Z.copy")
    leftover.write_text("half a copy")
    harm(database, f"UPDATE benchmark_results SET status = 'fine' WHERE result_id = '{FIRST}'")
    notes = {found.check: found for found in fix_database(database, None, now=NOW).findings}
    assert notes["in quarantine"].rows == 1
    assert not leftover.exists()
    assert "unknown word: status is fine" in notes["in quarantine"].examples[0]

    newer = records()[0].model_copy(update={"recorded_at": RECORDED_AT + timedelta(hours=1)})
    with Store.open(database) as store:
        assert store.merge(saved(tmp_path / "newer", [newer])) == MergeReport(inserted=1)
    assert not validate_database(database, now=NOW).errors


@pytest.mark.slow
def test_a_fault_in_the_record_itself_ends_in_quarantine(database: Path, tmp_path: Path) -> None:
    record = records()[0].model_copy(update={"run_id": "wrong"})
    with Store.open(database) as store:
        store.merge(saved(tmp_path / "sound", [record]))
    harm(database, "UPDATE benchmark_results SET memory_peak_bytes = -5 WHERE run_id = 'wrong'")
    wrong = record.model_copy(update={"memory_peak_bytes": -5})
    files = saved(tmp_path / "results", [wrong])
    fixed = fix_database(database, tmp_path / "results", now=NOW)
    assert (len(fixed.errors), fixed.quarantined) == (0, 1)
    with Store.open(database) as store:
        (damaged,) = store.merge(files).damaged
        assert "memory_peak_bytes" in damaged.reason


@pytest.mark.parametrize(
    ("column", "type_", "other"),
    [
        ("raw_benchmark_data.warmup_durations_ns", "DOUBLE[]", "BIGINT[]"),
        pytest.param("benchmark_results.throughput", "VARCHAR", "DOUBLE", marks=pytest.mark.slow),
        pytest.param("benchmark_results.result_id", "BLOB", "VARCHAR", marks=pytest.mark.slow),
    ],
)
def test_columns_of_another_type_are_told_and_nothing_is_mended(
    database: Path, column: str, type_: str, other: str
) -> None:
    table, _, name = column.partition(".")
    harm(database, f"ALTER TABLE {table} ALTER {name} TYPE {type_}")
    before = content(database)
    fixed = fix_database(database, None, now=NOW)
    (found,) = [each for each in fixed.findings if each.check == RETYPED]
    assert (found.severity, found.examples) == ("error", (f"{column} is {type_}, not {other}",))
    assert fixed.backup is None
    assert list(database.parent.glob("*before-fix*")) == []
    assert content(database) == before


@pytest.mark.slow
def test_a_killed_fix_leaves_the_old_state_or_the_new(database: Path, tmp_path: Path) -> None:
    harm(database, "UPDATE benchmark_results SET status = 'fine' WHERE source = 'accelmatrix'")
    damaged, harmed = content(database), database.read_bytes()
    other = tmp_path / "other.duckdb"
    other.write_bytes(harmed)
    usual_s = time_of(script(FIX, IMPORTS), other, NOW.isoformat())
    fixed = content(other)
    chance = random.Random(os.urandom(8))
    for _ in range(2):
        database.write_bytes(harmed)
        killed(
            script(FIX, IMPORTS), database, NOW.isoformat(), when=after(chance.uniform(0, usual_s))
        )
        assert content(database) in (damaged, fixed)
        wal_path(database).unlink(missing_ok=True)
    fix_database(database, None, now=NOW)
    assert content(database) == fixed


@pytest.mark.slow
def test_a_full_disk_changes_nothing(database: Path) -> None:
    harm(database, f"UPDATE benchmark_results SET status = 'fine' WHERE result_id = '{FIRST}'")
    before = content(database)
    assert "cannot be copied" in done(refused(FIX, IMPORTS), database, NOW.isoformat())
    assert content(database) == before
    assert list(database.parent.glob("*before-fix*")) == []


def test_a_database_in_use_is_not_mended(database: Path) -> None:
    with Store.open(database), pytest.raises(StoreError, match="still in use"):
        fix_database(database, None, now=NOW, wait_s=0)
