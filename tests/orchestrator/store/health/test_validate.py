"""A sound database has no findings; each kind of damage is found, and named."""

import shutil
import tempfile
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orchestrator.store.health.checks import CHECKS
from orchestrator.store.health.fix import find_faults, validate_database
from orchestrator.store.health.validate import (
    EXAMPLES,
    Finding,
    define_conditions,
    define_sentences,
)
from orchestrator.store.store import Store
from runner.contract.record.record import Record
from tests.orchestrator.store.health.sound import (
    FIRST,
    IMPORTED,
    NOW,
    OF_ALL,
    OF_ROWS,
    TOGETHER,
    Damage,
    a_database_of_rows_to_harm,
    harm,
    harm_every_row,
    import_like,
    saved,
)
from tests.support.records import RECORDED_AT, a_failure, a_record

CONTRADICTS = "throughput contradicts latency"
CLOCKS = "throughput by another clock"


@pytest.fixture
def database(sound: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(sound, tmp_path))


def findings(database: Path) -> dict[str, Finding]:
    """By check, those in rows of ours before those in rows of others."""
    found = validate_database(database, now=NOW).findings
    return {each.check: each for each in reversed(found)}


def test_a_sound_database_has_no_findings(sound: Path) -> None:
    assert findings(sound) == {}


@pytest.mark.slow
def test_each_damage_of_a_row_is_found_and_named(tmp_path: Path) -> None:
    database = tmp_path / "benchmarks.duckdb"
    rows = a_database_of_rows_to_harm(database, tmp_path / "results")
    assert set(findings(database)) <= {"result without its run"}
    harm_every_row(database, rows)

    errors = validate_database(database, now=NOW).errors

    with duckdb.connect(database) as connection:
        define_conditions(connection, NOW)
        define_sentences(connection)
        find_faults(connection, errors)
        found = connection.execute("SELECT subject, reason FROM faults").fetchall()
    named = {(subject.rpartition("/")[2], reason.partition(": ")[0]) for subject, reason in found}
    mended_alone = {each.name for each in CHECKS if each.table is None}
    for damage, row in rows.items():
        assert damage.check in errors
        if damage.check not in mended_alone:
            assert (row.rpartition("/")[2], damage.check) in named, damage


@pytest.mark.representatives(2)
@pytest.mark.parametrize("damages", TOGETHER, ids=lambda damages: damages[0].check)
def test_damage_of_the_whole_is_found_and_named(database: Path, damages: Sequence[Damage]) -> None:
    harm(database, ";".join(damage.sql for damage in damages))
    found = findings(database)
    for damage in damages:
        assert found[damage.check].severity == "error"
        assert found[damage.check].remedy


@pytest.mark.slow
@pytest.mark.parametrize("damage", OF_ALL, ids=str)
def test_damage_of_the_whole_is_found_alone(database: Path, damage: Damage) -> None:
    harm(database, damage.sql)
    assert damage.check in findings(database)


def test_every_check_that_finds_errors_was_tried() -> None:
    errors = {check.name for check in CHECKS if "error" in (check.severity, check.imported)}
    assert errors <= {damage.check for damage in (*OF_ROWS, *OF_ALL)}
    assert len({check.name for check in CHECKS}) == len(CHECKS)


def test_examples_tell_the_row_and_what_is_wrong(database: Path) -> None:
    harm(database, f"UPDATE benchmark_results SET throughput = -2 WHERE result_id = '{FIRST}'")
    assert findings(database)["impossible value"].examples == (f"{FIRST}: throughput is -2.0",)


@pytest.mark.slow
def test_rounds_are_told_in_words(database: Path) -> None:
    told = []
    for rounds, counts in ((1, "[2]"), (2, "[2, 1]")):
        change = f"rounds = {rounds}, round_iterations = {counts}, iterations = 9"
        harm(database, f"UPDATE benchmark_results SET {change} WHERE result_id = '{FIRST}'")
        told += findings(database)["rounds are not the iterations"].examples
    assert told == [
        f"{FIRST}: 1 round of 2 iterations, 9 in all",
        f"{FIRST}: 2 rounds of 2 + 1 iterations, 9 in all",
    ]


def test_examples_are_bounded(database: Path) -> None:
    harm(database, "UPDATE benchmark_results SET first_latency_s = -1 WHERE source = 'accelmatrix'")
    found = findings(database)["impossible value"]
    assert (found.rows, len(found.examples)) == (7, EXAMPLES)


@pytest.mark.representatives(1)
@pytest.mark.parametrize(
    "change",
    ["latency_median_s = 0", "throughput = 7", "latency_p50_s = 0.003, latency_p90_s = 0.001"],
)
def test_faults_of_others_files_are_warnings_with_their_name(database: Path, change: str) -> None:
    harm(database, f"UPDATE benchmark_results SET {change} WHERE result_id = '{IMPORTED}'")
    found = validate_database(database, now=NOW)
    assert not found.errors
    assert {(each.severity, each.source) for each in found.findings} == {("warning", "timm")}


PRINTED = (
    (256, 0.29283, 874.24, None),  # 874.2273, and the latency is rounded as well
    (256, 0.29283, 874.26, CLOCKS),
    (256, 0.29283, 840.0, CLOCKS),
    (256, 0.29283, 820.0, CONTRADICTS),
    (256, 0.29283, 930.0, CONTRADICTS),
    (1, 0.01, 100.0, None),
    (1, 0.0123, 81.3, None),  # 81.3008
    (1, 0.0123, 81.0, None),  # no digit after the point was printed
    (1, 0.0123, 8.13, CONTRADICTS),
    (1, 8.1e-05, 12345.679, None),
    (1, 8.1e-05, 12500.0, CLOCKS),
    (4, 8.1e-05, 12345.679, CONTRADICTS),
)
"""Batch, latency and throughput as others print them, and the check that finds a fault in them."""


@pytest.mark.slow
def test_what_others_printed_may_be_rounded(database: Path) -> None:
    expected = {}
    for number, (batch_size, latency_s, throughput, check) in enumerate(PRINTED):
        row = f"imported-{number}/theirs"
        import_like(database, FIRST, row)
        harm(
            database,
            f"UPDATE benchmark_results SET batch_size = {batch_size}, throughput = {throughput},"
            f" latency_mean_s = {latency_s}, latency_min_s = NULL, latency_max_s = NULL"
            f" WHERE result_id = '{row}'",
        )
        if check is not None:
            expected[row] = check
    with duckdb.connect(database) as connection:
        define_conditions(connection, NOW)
        define_sentences(connection)
        found = {
            subject: check.name
            for check in CHECKS
            if check.name in {CLOCKS, CONTRADICTS}
            for _, subject, *_ in connection.execute(check.query).fetchall()
        }
    assert found == expected


@pytest.mark.parametrize("change", ["scenario = 'offline'", "source = 'mlperf-inference'"])
def test_only_one_query_behind_the_other_has_that_identity(database: Path, change: str) -> None:
    harm(
        database,
        f"UPDATE benchmark_results SET throughput = 7, {change} WHERE result_id = '{IMPORTED}'",
    )
    assert findings(database) == {}


def test_lost_raw_durations_are_a_warning(database: Path) -> None:
    harm(database, f"DELETE FROM raw_benchmark_data WHERE result_id = '{FIRST}'")
    assert findings(database)["result without raw durations"].severity == "warning"


def test_what_is_worth_knowing_is_a_note(database: Path) -> None:
    harm(
        database,
        f"""
        UPDATE benchmark_runs SET planned = 9 WHERE run_id = 'described';
        UPDATE benchmark_results SET proof = 'partial' WHERE result_id = '{FIRST}';
        CREATE TABLE customers AS SELECT 1 AS id
        """,
    )
    found = validate_database(database, now=NOW)
    assert not found.errors
    assert {each.check: each.examples for each in found.findings} == {
        "run with more or fewer verdicts than planned": ("described: 6 verdicts, 9 planned",),
        "ok, and not proven": (f"{FIRST}: proof partial",),
        "made by somebody else": ("customers",),
    }


def test_wrong_outputs_may_differ_without_bound(database: Path) -> None:
    harm(
        database,
        "UPDATE benchmark_results SET correct = false, difference_max_abs = 'inf'::DOUBLE,"
        " difference_relative = 'nan'::DOUBLE, cosine_similarity = 'nan'::DOUBLE",
    )
    assert findings(database) == {}


def test_the_fake_backend_is_welcome_in_a_scratch_database(tmp_path: Path) -> None:
    files = saved(tmp_path, [a_record(backend="fake", runtime="fake")])
    with Store.open(tmp_path / "scratch.duckdb", scratch=True) as store:
        store.merge(files)
    assert findings(tmp_path / "scratch.duckdb") == {}


def _record(run: int, cell: int, status: str, durations: list[int]) -> Record:
    changes = {
        "run_id": f"run-{run}",
        "batch_size": cell,
        "recorded_at": RECORDED_AT + timedelta(minutes=run),
    }
    if status == "ok":  # the last digit is the run's, as no two measure the same
        return a_record(**changes, durations_ns=[10 * each + run for each in durations])
    return a_failure(status, "as it happens", **changes)


@pytest.mark.slow
@settings(max_examples=8, deadline=None)
@given(
    records=st.lists(
        st.builds(
            _record,
            run=st.integers(1, 3),
            cell=st.integers(1, 64),
            status=st.sampled_from(["ok", "ok", "lost", "timeout", "unsupported"]),
            durations=st.lists(st.integers(1, 10**10), min_size=1, max_size=30),
        ),
        min_size=1,
        max_size=12,
        unique_by=lambda record: (record.run_id, record.cell_id),
    )
)
def test_whatever_was_measured_is_sound(records: list[Record]) -> None:
    with tempfile.TemporaryDirectory() as name:
        database = Path(name) / "benchmarks.duckdb"
        with Store.open(database) as store:
            store.merge(saved(Path(name), records))
        assert findings(database) == {}
