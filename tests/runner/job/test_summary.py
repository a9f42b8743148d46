"""Parts of all rounds become one record."""

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from orchestrator.screen.words.doubts import doubt_text
from runner.contract.cell import Cell
from runner.contract.job import PROFILES, ProcessSpread
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Doubt, DoubtCode, Grade, heaviest_first
from runner.contract.rounds import Bursts, Energy, MemoryUse, RoundResult
from runner.job.replication import is_done
from runner.job.summary import summarise_rounds, summarise_tokens
from runner.measure.environment import read_environment
from runner.measure.grade import Conditions
from tests.support.jobs import a_job, a_spread, fake_cell
from tests.support.records import MIB, QUIET, a_round, record_for
from tests.support.words import doubt_words

CONDITIONS = Conditions(read_environment(), 1e-9, 1e-6)


def columns(
    *rounds: Any, process_spread: ProcessSpread | None = None, **cell: Any
) -> dict[str, Any]:
    job = a_job([fake_cell(**cell)]).model_copy(update={"process_spread": process_spread})
    summary = summarise_rounds(job, job.cells[0], rounds, CONDITIONS)
    record_for(job, job.cells[0], **summary)
    return summary


def test_iterations_of_all_rounds_count_together() -> None:
    summary = columns(a_round([2_000_000] * 10), a_round([4_000_000] * 30))
    counts = [summary[name] for name in ("rounds", "round_iterations", "iterations")]
    assert counts == [2, [10, 30], 40]
    assert summary["durations_ns"] == [2_000_000] * 10 + [4_000_000] * 30
    assert summary["steady_time_s"] == pytest.approx(0.14)
    assert summary["throughput"] == pytest.approx(40 / 0.14)
    assert summary["drift"] == pytest.approx(2 / 3)
    assert summary["drift_p_value"] < 0.001
    alone = columns(a_round())
    assert (alone["drift"], alone["drift_p_value"]) == (None, None)


def test_the_interval_of_several_rounds_is_that_of_their_medians() -> None:
    summary = columns(*(a_round([level, level, level + 1]) for level in (98, 100, 102)))
    assert summary["round_medians"] == pytest.approx([98e-9, 100e-9, 102e-9])
    assert summary["latency_between_process_cv"] == pytest.approx(0.02)
    assert summary["latency_median_s"] == pytest.approx(100e-9)
    half = 4.3027 * 2 / 3**0.5
    assert summary["latency_median_low_s"] == pytest.approx((100 - half) * 1e-9, rel=1e-4)
    assert summary["latency_precision"] == pytest.approx(half / 100, rel=1e-4)
    assert (summary["effective_rounds"], summary["round_degrees"]) == (3, 2)
    assert "process_spread" not in summary


@pytest.mark.parametrize(("load", "grade"), [(0.1, "B"), (0.6, "C"), (0.95, "D")])
def test_a_queue_multiplies_what_processes_differ_by(load: float, grade: str) -> None:
    durations = [10_000_000 + place % 3 for place in range(500)]
    served = a_round(durations, steady_ns=10**10, parts_ns={"service": durations})
    summary = columns(served, process_spread=a_spread(), scenario="server", target_qps=100 * load)
    assert summary["process_spread"] >= 0.01
    assert summary["grade"] == grade


@pytest.mark.parametrize(
    ("slo_ms", "ends", "grade"),
    [(20.0, (4.24, 17.7), "D"), (100.0, (11.7, 15.2), "C")],
    ids=["hardly time to wait", "much"],
)
def test_a_peaks_bracket_holds_for_fresh_processes(
    slo_ms: float, ends: tuple[float, float], grade: str
) -> None:
    bracket = {"peak_qps": 13.2, "peak_qps_low": 13.2, "peak_qps_high": 13.6}
    services = {"service": [10_000_000] * 500}
    served = a_round(parts_ns=services, columns={"timed_region": "a sleep"} | bracket)
    summary = columns(served, scenario="server", slo_ms=slo_ms)
    assert (summary["peak_qps_low"], summary["peak_qps_high"]) == pytest.approx(ends, rel=0.06)
    assert summary["peak_qps"] == 13.2
    assert summary["grade"] == grade
    assert "queue multiplies it by" in summary["process_spread_source"]
    reasons = " ".join(doubt_words(summary))
    assert "calibrate this host" in reasons
    assert "--profile" not in reasons
    bracket |= {"peak_qps": None, "peak_qps_low": None}
    nothing = a_round(parts_ns=services, columns={"timed_region": ""} | bracket)
    summary = columns(nothing, scenario="server", slo_ms=slo_ms)
    assert summary["peak_qps_low"] is None
    assert summary["peak_qps_high"] == pytest.approx(ends[1] / 13.4 * 13.6, rel=0.06)


def test_rounds_of_one_minute_are_known_less_well_than_rounds_of_an_hour() -> None:
    begin = datetime(2026, 11, 26, tzinfo=UTC)
    near, apart = (
        columns(
            *(
                a_round([level] * 3, measured_at=begin + place * gap)
                for place, level in enumerate((98, 100, 102))
            )
        )
        for gap in (timedelta(seconds=9), timedelta(minutes=20))
    )
    assert near["effective_rounds"] < 1 < apart["effective_rounds"] <= 3
    assert near["latency_precision"] > 2 * apart["latency_precision"]
    assert near["latency_median_s"] == apart["latency_median_s"]


def test_one_process_allows_for_what_others_would_measure_and_is_never_better_than_b() -> None:
    durations = [2_000_000 + place % 3 for place in range(50)]
    plain = columns(a_round(durations))
    assert plain["latency_precision"] == pytest.approx(1.96 * 0.053, rel=1e-2)
    assert plain["process_spread"] == 0.053
    assert "one process: differences below 15 % are not shown" in " ".join(doubt_words(plain))
    calibrated = columns(a_round(durations), process_spread=a_spread())
    assert calibrated["latency_precision"] == pytest.approx(2.365 * 0.01, rel=1e-2)
    assert "one process: differences below 3.3 %" in " ".join(doubt_words(calibrated))
    assert calibrated["process_spread_source"].startswith("calibration with 8 processes")
    assert (plain["grade"], calibrated["grade"]) == ("C", "B")
    remedies = [" ".join(doubt_words(summary)) for summary in (plain, calibrated)]
    assert ["doctor --calibrate" in remedy for remedy in remedies] == [True, False]


@pytest.mark.parametrize(
    ("medians", "changes", "done"),
    [
        ([100], {"max_rounds": None, "rounds": 1}, True),
        ([100, 100], {}, False),
        ([100, 100, 100], {}, True),
        ([98, 100, 102], {}, False),
        ([98, 100, 102, 100, 100], {"max_rounds": 5}, True),
        ([98, 100, 102], {"max_s": 350e-9}, True),
    ],
    ids=["one is all", "too few", "precise", "not precise", "no more rounds", "no more time"],
)
def test_rounds_go_on_until_they_are_precise_or_spent(
    medians: list[int], changes: dict[str, Any], done: bool
) -> None:
    measure = PROFILES["standard"].model_copy(update=changes)
    rounds = [a_round([value]) for value in medians]
    assert is_done(measure, fake_cell(), rounds) is done


def test_changes_between_rounds_and_inside_them_are_named() -> None:
    slow = [[value + place % 7 for place in range(100)] for value in (1000, 1300, 1000)]
    reasons = " ".join(doubt_words(columns(*map(a_round, slow))))
    assert "rounds differ by 27 %, more than processes do: calibrate this host by" in reasons
    step = [1000 + place % 7 + 300 * (place >= 60) for place in range(120)]
    summary = columns(a_round(step))
    assert summary["steady_change_kind"] == "step"
    assert summary["steady_change"] == pytest.approx(0.3, abs=0.01)
    reasons = " ".join(doubt_words(summary))
    assert "a step inside the steady phase: 30 % more time behind it" in reasons


def test_memory_is_the_highest_of_any_round() -> None:
    big = MemoryUse(
        peak_bytes=900 * MIB, steady_peak_bytes=None, average_bytes=1, wasm_bytes=16 * MIB
    )
    summary = columns(a_round(memory=big), a_round())
    assert summary["memory_peak_bytes"] == 900 * MIB
    assert summary["memory_steady_peak_bytes"] == 290 * MIB
    assert summary["memory_allocator_peak_bytes"] is None
    assert summary["memory_wasm_bytes"] == 16 * MIB
    assert summary["memory_average_bytes"] == 280 * MIB


def test_energy_is_that_of_all_rounds_or_of_none() -> None:
    counted = a_round(
        [1] * 5,
        samples=10,
        energy=Energy(joules=3.0, window_s=2.0, method="RAPL"),
        parts_ns={"first_token": [1] * 5, "output_token": [1] * 15},
    )
    whole = columns(counted, counted, mode="generation", new_tokens=4)
    assert whole["energy_joules"] == 6
    assert whole["energy_per_sample_joules"] == pytest.approx(0.3)
    assert whole["energy_per_token_joules"] == pytest.approx(0.075)
    assert (whole["energy_window_s"], whole["energy_method"]) == (4, "RAPL")
    starts = columns(counted, mode="startup")
    assert (starts["energy_joules"], starts["energy_per_sample_joules"]) == (3, None)
    broken = columns(counted, a_round())
    assert broken.get("energy_joules") is None
    assert broken["energy_method"] == "unavailable: no counter"


QUEUE = Doubt("queue_grew", "D", None, "lower_rate", {"most_qps": "3"})
SHORT = Doubt("peak_unverified", "C", 7.0, "raise_duration")


def test_the_heaviest_doubt_comes_first_and_others_before_a_lack_of_time() -> None:
    loud = QUIET.model_copy(update={"other_load": 0.15})
    doubts = columns(a_round(doubts=[SHORT, QUEUE], noise=loud))["doubts"]
    codes = [doubt.code for doubt in doubts]
    ordered = ["queue_grew", "other_load", "peak_unverified"]
    assert sorted(ordered, key=codes.index) == ordered


def a_doubt(code: DoubtCode, grade: Grade) -> Doubt:
    return Doubt(code, grade, 0.3, "cool" if code == "inside_step" else "stop_them")


@pytest.mark.parametrize(
    ("doubts", "ordered"),
    [
        ("scatter D, other_load D, host_load D", "other_load, host_load, scatter"),
        ("drift D, host_load D, other_load C", "other_load, host_load, drift"),
        ("drift D, other_load B", "drift, other_load"),
        ("imprecise C, governor B", "governor, imprecise"),
        (
            "inside_step D, one_process D, processor_heat D",
            "processor_heat, one_process, inside_step",
        ),
        ("queue_grew D, other_load C", "queue_grew, other_load"),
    ],
)
def test_a_cause_stands_before_the_symptoms_that_it_explains(doubts: str, ordered: str) -> None:
    known = [a_doubt(*word.split()) for word in doubts.split(", ")]  # type: ignore[arg-type]
    assert ", ".join(doubt.code for doubt in heaviest_first(known)) == ordered


CELL = fake_cell(2, mode="generation", new_tokens=4)
JUDGED = ("time_to_first_token_median", "time_per_output_token_median")


def columns_of(cell: Cell, *rounds: RoundResult) -> Columns:
    return summarise_tokens(a_job([cell]), cell, rounds)[0]


def test_columns_of_all_iterations_together() -> None:
    parts = {"first_token": [100, 300], "output_token": [10, 20, 30, 10, 20, 10]}
    columns = columns_of(CELL, a_round([160, 340], parts_ns=parts))
    expected = {
        "time_to_first_token_mean_s": 200e-9,
        "time_to_first_token_median_s": 200e-9,
        "time_to_first_token_p99_s": None,
        "time_per_output_token_mean_s": 100e-9 / 6,
        "time_per_output_token_stddev_s": pytest.approx(20e-9 / 3 / 2**0.5),
        "inter_token_latency_mean_s": 100e-9 / 6,
        "inter_token_latency_median_s": 15e-9,
        "decode_throughput": 2 * 6 / 100e-9,
        "token_throughput": 2 * 4 * 2 / 500e-9,
    }
    assert {name: columns[name] for name in expected} == pytest.approx(expected)


def generated(level: float, seed: int = 0) -> RoundResult:
    """Twenty generations of four tokens of a process that takes so many times as long."""
    random = np.random.default_rng(seed)
    first = (level * random.normal(1e6, 1e5, 20)).astype(int).tolist()
    gaps = (level * random.normal(1e5, 1e3, (20, 3))).astype(int)
    durations = [start + int(sum(row)) for start, row in zip(first, gaps, strict=True)]
    parts = {"first_token": first, "output_token": gaps.ravel().tolist()}
    return a_round(durations, parts_ns=parts)


def test_first_and_further_tokens_have_intervals_and_are_graded() -> None:
    job = a_job([CELL])
    measure = job.measure.model_copy(update={"precision_target": 0.02})
    columns, doubts = summarise_tokens(
        job.model_copy(update={"measure": measure}), CELL, [generated(1)]
    )
    for prefix in JUDGED:
        names = (f"{prefix}_{end}s" for end in ("low_", "", "high_"))
        low, median, high = (columns[name] or 0 for name in names)
        assert 0 < low < median < high
    (doubt,) = doubts
    assert doubt.grade in "BC"
    assert doubt_text(doubt).startswith("the median time to the first token is known within")


def in_bursts(*iterations: int, dropped: int = 1, **changes: Any) -> RoundResult:
    known = {"rest_s": 0.002, "clocks_hz": [None] * len(iterations)} | changes
    bursts = Bursts(iterations=[*iterations], dropped=dropped, **known)
    return a_round([2_000_000] * sum(iterations), bursts=bursts)


def test_a_record_tells_of_the_bursts_of_all_rounds() -> None:
    hertz: list[float | None] = [1e9, 2e9]
    first = in_bursts(20, 19, clocks_hz=hertz)
    second = in_bursts(5, 6, 4, dropped=2, rest_s=0.3, clocks_hz=[1e9] * 3)
    summary = columns(first, second)
    assert summary["round_bursts"] == [2, 3]
    assert summary["burst_iterations"] == [20, 19, 5, 6, 4]
    assert sum(summary["burst_iterations"]) == summary["iterations"]
    assert summary["burst_dropped"] == [1, 2]
    assert summary["burst_rest_s"] == 0.3
    assert summary["burst_clocks_hz"] == [1e9, 2e9, 1e9, 1e9, 1e9]


@pytest.mark.parametrize("hertz", [[None, None], [1e9, None]])
def test_clocks_that_are_not_all_known_are_none(hertz: list[float | None]) -> None:
    assert columns(in_bursts(3, 4, clocks_hz=hertz))["burst_clocks_hz"] is None


def test_what_is_measured_alone_has_no_bursts() -> None:
    assert not [name for name in columns(a_round(), a_round()) if "burst" in name]
