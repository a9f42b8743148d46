"""A result and its replay, side by side."""

from typing import Any

import pytest

from orchestrator.commands.measure.replay import Replay, print_replay
from orchestrator.store.query.results import Measurement
from tests.orchestrator.conftest import Screen
from tests.support.results import a_measurement

THEN = a_measurement(latency_p90_ms=0.9, memory_mb=300.0)
OVERLAP = "The 95 % intervals of the two medians overlap"
DIFFERS = "They differ by more than fresh processes do"


def shown(screen: Screen, then: Measurement = THEN, **now: Any) -> list[str]:
    again = a_measurement(**{"result_id": "run-2/cell-1", "memory_mb": 330.0} | now)
    return [" ".join(words) for words in screen.words(print_replay, Replay(then, again))]


def test_both_stand_side_by_side(screen: Screen) -> None:
    lines = shown(screen, latency_median_ms=1.62, latency_p90_ms=None)
    assert {
        *("then: run-1/cell-1", "now: run-2/cell-1", "metric then now ratio"),
        *("median ms 0.81 1.62 2", "p90 ms 0.9 – –", "peak MB 300 330 1.1"),
        *("correct yes yes", "launcher docker docker", f"commit {'c' * 19} {'c' * 19}"),
        f"image sha256:{'a' * 12} sha256:{'a' * 12}",
    } <= {*lines}
    assert not any(line.startswith(("p99", "tokens/s", "energy")) for line in lines)


@pytest.mark.parametrize(
    ("median", "low", "high", "sentence"),
    [
        (0.85, 0.82, 0.88, f"{OVERLAP}: no difference is shown."),
        (0.88, 0.84, 0.93, f"{DIFFERS}: now it takes 8.6 % more time, 1.04 to 1.15 times as much."),
    ],
)
def test_one_sentence_tells_whether_the_medians_differ(
    screen: Screen, median: float, low: float, high: float, sentence: str
) -> None:
    ends: dict[str, Any] = {"latency_median_low_ms": low, "latency_median_high_ms": high}
    assert shown(screen, latency_median_ms=median, **ends)[-1] == sentence


OFFLINE: dict[str, Any] = {"scenario": "offline", "batch_size": 32}
PEAK: dict[str, Any] = {"scenario": "server", "peak_qps": 100.0, "peak_qps_high": 104.0}


@pytest.mark.parametrize(
    ("then", "now", "sentence"),
    [
        (
            OFFLINE,
            {**OFFLINE, "batch_size": 64},
            "now a sample takes 50.0 % less time, 0.49 to 0.51 times as much.",
        ),
        (
            PEAK,
            {**PEAK, "peak_qps": 50.0, "peak_qps_high": 52.0},
            "now the peak is 50.0 % lower, 0.48 to 0.52 times as high.",
        ),
        (PEAK, {**PEAK, "peak_qps": None}, "There are no two peaks with brackets to compare."),
    ],
)
def test_what_a_search_found_has_a_sentence_of_its_own(
    screen: Screen, then: dict[str, Any], now: dict[str, Any], sentence: str
) -> None:
    lines = shown(screen, a_measurement(**then), **now)
    assert sentence in lines[-1]
    batches = {then.get("batch_size"), now.get("batch_size")}
    assert ("note: offline found another batch: 32, now 64" in lines) is (len(batches) > 1)


def test_a_difference_that_the_grade_cannot_show_is_named(screen: Screen) -> None:
    ends: dict[str, Any] = {"latency_median_low_ms": 0.9, "latency_median_high_ms": 0.92}
    note = "note: grade C shows differences beyond 20 % alone"
    lines = shown(screen, grade="C", latency_median_ms=0.91, **ends)
    assert note in lines
    assert lines[-1].endswith("by less than their grades can show: no difference is shown.")
    assert note not in shown(screen, grade="B", latency_median_ms=0.91, **ends)
