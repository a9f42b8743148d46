"""The view of efficiency: counted work by time, and both rates by the machine's best peaks."""

from datetime import UTC, datetime
from typing import Any

import pytest

from orchestrator.store.health.validate import find_all
from orchestrator.store.store import Store
from tests.orchestrator.store.schema.conftest import Ask
from tests.support.records import a_record

NOTE = "work above the peak"
MACHINE: dict[str, Any] = {
    "flops_per_iteration": 300_000_000,
    "bytes_per_iteration": 6_000_000,
    "peak_flops_per_s": 2e11,
    "peak_bytes_per_s": 1e10,
    "device_cache_bytes": 1_000_000,
    "latency_median_s": 0.003,
}


def test_rates_intensity_and_shares_of_a_query(ask: Ask) -> None:
    (row,) = ask("FROM efficiency", a_record(**MACHINE))
    assert (row["part"], row["bound"]) == ("query", "compute")
    rates = {name: row[name] for name in ("gflop_per_s", "gb_per_s", "intensity", "mfu", "mbu")}
    assert rates == pytest.approx(
        {"gflop_per_s": 100, "gb_per_s": 2, "intensity": 50, "mfu": 0.5, "mbu": 0.2}
    )


def test_the_best_peaks_of_the_machine_count_whichever_runtime_reached_them(ask: Ask) -> None:
    best = {"peak_flops_per_s": 4e11, "peak_bytes_per_s": 2e10}
    shown = ask(
        "SELECT batch_size, mfu, mbu FROM efficiency WHERE precision = 'fp32' ORDER BY ALL",
        a_record(**MACHINE, batch_size=1),
        a_record(**MACHINE | best, batch_size=2, runtime="onnxruntime"),
        a_record(**MACHINE | {"peak_flops_per_s": 9e11}, batch_size=4, precision="bf16"),
        a_record(**MACHINE | {"peak_flops_per_s": 9e11}, batch_size=8, proof="none", threads=7),
        a_record(**MACHINE | {"peak_bytes_per_s": 9e11}, batch_size=16, device_name="another"),
    )
    first, second, *others = (tuple(row.values()) for row in shown)
    assert first == (1, pytest.approx(0.25), pytest.approx(0.1))
    assert second == (2, pytest.approx(0.25), pytest.approx(0.1))
    assert [row[0] for row in others] == [16]


def test_what_fits_in_the_cache_is_not_bound_by_memory(ask: Ask) -> None:
    records = [
        a_record(**MACHINE | {"device_cache_bytes": 32 << 20}, batch_size=1),
        a_record(**MACHINE | {"flops_per_iteration": 30_000_000}, batch_size=2),
        a_record(**MACHINE | {"peak_flops_per_s": None}, batch_size=4, precision="int8"),
    ]
    sql = "SELECT bound, mbu IS NULL, mfu IS NULL FROM efficiency ORDER BY batch_size"
    shown = ask(sql, *records)
    assert [tuple(row.values()) for row in shown] == [
        ("compute", True, False),
        ("memory", False, False),
        (None, False, True),
    ]


def test_a_generation_has_a_row_for_filling_the_cache_and_one_for_extending_it(ask: Ask) -> None:
    generation = a_record(
        **MACHINE,
        mode="generation",
        new_tokens=5,
        prefill_flops=200_000_000,
        prefill_bytes=2_000_000,
        time_to_first_token_median_s=0.002,
        time_per_output_token_median_s=0.0005,
    )
    shown = ask("SELECT part, gflop_per_s, gb_per_s FROM efficiency ORDER BY part", generation)
    decode, prefill = (tuple(row.values()) for row in shown)
    assert prefill == ("prefill", pytest.approx(100), pytest.approx(1))
    assert decode == ("decode", pytest.approx(50), pytest.approx(2))


@pytest.mark.slow
def test_a_share_above_a_fifth_more_than_the_peak_is_noted(ask: Ask, store: Store) -> None:
    slow = MACHINE | {"peak_flops_per_s": 5e10}
    (row,) = ask("SELECT mfu FROM efficiency", a_record(**slow))
    assert row["mfu"] == pytest.approx(2)
    found = find_all(store._connection, datetime.now(UTC))
    noted = [each for each in found if each.check == NOTE]
    assert [(each.severity, each.rows) for each in noted] == [("note", 1)]


def test_records_without_counted_work_have_no_row(ask: Ask) -> None:
    assert ask("FROM efficiency", a_record()) == []
