"""Records that no measurement can have given are refused before they enter a database."""

import math
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from orchestrator.store.health.fix import validate_database
from orchestrator.store.health.incoming import CLOCK_TOLERANCE
from orchestrator.store.schema.sources import Origin
from orchestrator.store.store import Store
from runner.contract.errors import StoreError
from runner.contract.record.files import arrow_schema, to_table
from runner.contract.record.record import Record
from tests.support.records import RECORDED_AT, a_failure, a_record

IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "NaN": ({"latency_median_s": math.nan}, "impossible value: latency_median_s is nan"),
    "infinite": ({"throughput": math.inf}, "impossible value: throughput is inf"),
    "negative": ({"latency_median_s": -1.0}, "impossible value: latency_median_s is -1.0"),
    "absurd": ({"energy_joules": 1e300}, "impossible value: energy_joules is 1e+300"),
    "zero": ({"memory_peak_bytes": 0}, "impossible value: memory_peak_bytes is 0"),
    "refuted": (
        {"latency_median_s": 1e-9},
        "statistics contradict raw durations: latency_median_s is 1e-09, not 0.003",
    ),
    "negative duration": ({"durations_ns": [-1, 2, 3]}, "impossible raw duration: the shortest is"),
    "uncounted": ({"iterations": 7}, "iterations are not the durations: iterations is 7"),
    "without evidence": ({"evidence": {}}, "proof without evidence: proven, without evidence"),
    "future": ({"recorded_at": datetime(2999, 1, 1, tzinfo=UTC)}, "recorded in the future"),
}
FIRST_BATCH = 2


def _write(path: Path, *records: Record, **origin: Any) -> Path:
    rows = [record.model_dump() | Origin().model_dump() | origin for record in records]
    schema = pa.schema([*arrow_schema(), *arrow_schema(Origin)])
    pq.write_table(pa.Table.from_pylist(rows, schema) if origin else to_table(list(records)), path)
    return path


def _impossible() -> list[Record]:
    return [
        a_record(batch_size=FIRST_BATCH + number).model_copy(update=changes)
        for number, (changes, _) in enumerate(IMPOSSIBLE.values())
    ]


@pytest.mark.slow
def test_each_impossible_record_is_left_out_by_its_file_and_reason(tmp_path: Path) -> None:
    files = [
        _write(tmp_path / f"{number}.parquet", record)
        for number, record in enumerate(_impossible())
    ]
    sound = _write(tmp_path / "sound.parquet", a_record(batch_size=1))
    database = tmp_path / "x.duckdb"
    with Store.open(database) as store:
        report = store.merge([*files, sound])
        assert list(store.verdicts(a_record().run_id)) == [a_record(batch_size=1).cell_id]
    reasons = {file.path: file.reason for file in report.damaged}
    assert (report.inserted, set(reasons)) == (1, set(files))
    for path, (_, reason) in zip(files, IMPOSSIBLE.values(), strict=True):
        assert reason in reasons[path]
    assert not validate_database(database).errors
    with pytest.raises(StoreError, match="10 damaged files were left out"):
        report.require_complete()


@pytest.mark.slow
@pytest.mark.parametrize("large", [False, True])
def test_the_other_records_of_a_file_are_merged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    if large:
        monkeypatch.setattr("orchestrator.store.merge.staging.SMALL_FILE_BYTES", 0)
    sound = [a_record(batch_size=1), a_failure("lost", "gone", batch_size=999)]
    path = _write(tmp_path / "many.parquet", sound[0], *_impossible(), sound[1])
    with Store.open(tmp_path / "x.duckdb") as store:
        for report in (store.merge([path]), store.merge([path])):
            assert len(store.verdicts(sound[0].run_id)) == 2
            (damaged,) = report.damaged
            assert (damaged.path, damaged.records) == (path, len(IMPOSSIBLE))
            assert damaged.reason.endswith(f"and {len(IMPOSSIBLE) - 3} more")
    with pytest.raises(StoreError, match="10 records were left out, since no measurement can"):
        report.require_complete()


def test_what_others_measured_may_be_zero_and_not_impossible(tmp_path: Path) -> None:
    cases: tuple[tuple[dict[str, Any], str | None], ...] = (
        ({"latency_median_s": -1.0}, "impossible value"),
        ({"latency_median_s": 0.0}, None),
        ({"proof": "proven"}, "proof of what others measured"),
    )
    expected: dict[Path, str] = {}
    for number, (changes, reason) in enumerate(cases):
        record = a_record(batch_size=1 + number, proof="none", durations_ns=[3])
        path = tmp_path / f"{number}.parquet"
        _write(path, record.model_copy(update=changes), source="somebody")
        if reason:
            expected[path] = reason
    with Store.open(tmp_path / "x.duckdb") as store:
        damaged = {file.path: file.reason for file in store.merge([tmp_path]).damaged}
    assert damaged.keys() == expected.keys()
    assert all(reason in damaged[path] for path, reason in expected.items())


def test_a_clock_that_was_set_back_costs_no_record(tmp_path: Path) -> None:
    ahead = datetime.now(UTC) + CLOCK_TOLERANCE - timedelta(minutes=5)
    record = a_record(recorded_at=ahead)
    assert record.recorded_at > RECORDED_AT
    with Store.open(tmp_path / "x.duckdb") as store:
        assert store.merge([_write(tmp_path / "ahead.parquet", record)]).inserted == 1


def test_the_median_of_several_rounds_is_the_mean_of_theirs(tmp_path: Path) -> None:
    milliseconds = [1, 10, 11, 12, 13, 14]
    ends = {"latency_median_low_s": 0.001, "latency_median_high_s": 0.02}
    rounds = {"rounds": 2, "round_iterations": [1, 5], "round_medians": [0.001, 0.012]}
    for name, median_s in (("mean of medians", 0.0065), ("median of all", 0.0115)):
        record = a_record(
            run_id=name,
            durations_ns=[value * 1_000_000 for value in milliseconds],
            latency_median_s=0.0115,
        )
        changes = {"latency_median_s": median_s, "latency_precision": 0.0095 / median_s}
        record = record.model_copy(update={**ends, **rounds, **changes})
        _write(tmp_path / f"{name}.parquet", record)
    with Store.open(tmp_path / "x.duckdb") as store:
        report = store.merge([tmp_path])
    assert report.inserted == 1, report
    assert [file.path.stem for file in report.damaged] == ["median of all"]
    assert not validate_database(tmp_path / "x.duckdb").errors


def test_so_is_the_median_time_to_the_first_token(tmp_path: Path) -> None:
    first = [value * 1_000_000 for value in (1, 10, 11, 12, 13, 14)]
    changes = {
        "rounds": 2,
        "round_iterations": [1, 5],
        "round_medians": [0.001, 0.012],
        "part_durations_ns": {"first_token": first},
        "latency_median_s": 0.0065,
        "latency_precision": 0.0095 / 0.0065,
        "latency_median_low_s": 0.001,
        "latency_median_high_s": 0.02,
    }
    for name, median_s in (("mean of medians", 0.0065), ("median of all", 0.0115)):
        record = a_record(
            run_id=name,
            mode="generation",
            new_tokens=1,
            durations_ns=first,
            latency_median_s=0.0115,
        )
        parts = {"time_to_first_token_median_s": median_s}
        _write(tmp_path / f"{name}.parquet", record.model_copy(update=changes | parts))
    with Store.open(tmp_path / "x.duckdb") as store:
        report = store.merge([tmp_path])
    assert report.inserted == 1, report
    assert [file.path.stem for file in report.damaged] == ["median of all"]
