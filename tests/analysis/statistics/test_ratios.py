"""Outcomes: a table of ratios, grades and launches, each with what it shows or why nothing."""

from dataclasses import dataclass

import pytest

from analysis.statistics.ratios import (
    Estimate,
    RatioOutcome,
    counted_words,
    deciding_lines,
    ratio_outcome,
)
from runner.contract.record.verdict import Grade

FASTER, SLOWER = Estimate(2, 1.9, 2.1), Estimate(0.5, 0.48, 0.52)
ALIKE, LEVEL = Estimate(1.01, 0.98, 1.04), Estimate(1, 1, 1)
OPEN, SMALL = Estimate(1.1, 0.9, 1.3), Estimate(1.15, 1.14, 1.16)


@dataclass(frozen=True)
class Speed:
    comparatives: tuple[str, str] = ("slower", "faster")
    threshold: float = 0.05


@pytest.mark.parametrize(
    ("times", "grade", "threshold", "launches", "outcome"),
    [
        (FASTER, "A", 0.05, (5, 5), "better"),
        (SLOWER, "C", 0.05, (1, 1), "worse"),
        (ALIKE, "A", 0.05, (5, 5), "equal"),
        (ALIKE, "B", 0.05, (5, 5), "equal"),
        (LEVEL, "A", 0.05, (), "equal"),
        (ALIKE, "B", 0.03, (5, 5), "few_launches"),
        (Estimate(1.0, 0.99, 1.01), "B", 0.03, (5, 5), "grade_b"),
        (ALIKE, "C", 0.05, (5, 5), "grade_c"),
        (ALIKE, "C", 0.20, (5, 5), "equal"),
        (Estimate(1.04, 1.03, 1.049), "A", 0.05, (5, 5), "equal"),
        (Estimate(1.04, 1.03, 1.051), "A", 0.05, (5, 5), "better"),
        (SMALL, "B", 0.05, (5, 5), "better"),
        (SMALL, "B", 0.20, (5, 5), "equal"),
        (SMALL, "C", 0.05, (5, 5), "grade_c"),
        (OPEN, "A", 0.05, (1, 12), "one_process"),
        (OPEN, "A", 0.05, (12, 3), "few_launches"),
        (OPEN, "A", 0.05, (12, 10), "wide_interval"),
        (OPEN, "A", 0.05, (None, None), "wide_interval"),
        (None, "A", 0.05, (5, 5), "no_interval"),
        (FASTER, "D", 0.05, (30, 30), "grade_d"),
        (LEVEL, "D", 0.50, (30, 30), "grade_d"),
        (None, "D", 0.05, (), "grade_d"),
    ],
)
def test_each_outcome_and_each_reason(
    times: Estimate | None,
    grade: Grade,
    threshold: float,
    launches: tuple[int | None, ...],
    outcome: str,
) -> None:
    shown = ratio_outcome(times, grade, threshold, launches=launches)
    assert (shown.because or shown.kind) == outcome
    assert (shown.kind == "undecided") == (shown.because is not None)
    assert shown.is_shown == (outcome in ("better", "worse"))
    inverse = ratio_outcome(times and times.inverse, grade, threshold, launches=launches)
    opposite = {"better": "worse", "worse": "better"}
    assert (inverse.because or inverse.kind) == opposite.get(outcome, outcome)


def test_what_may_not_be_compared_is_undecided_whatever_the_numbers() -> None:
    for code in ("imported", "unquotable"):
        assert ratio_outcome(FASTER, "A", refusal=code) == RatioOutcome("undecided", code)


def test_words_print_the_threshold_and_the_reason() -> None:
    words = [
        RatioOutcome("better").words(Speed()),
        RatioOutcome("equal").words(Speed(threshold=0.03)),
        RatioOutcome("undecided", "grade_d").words(Speed()),
        RatioOutcome("worse").words(Speed(("worse", "better"))),
    ]
    assert words == ["faster", "equal within 3 %", "undecided (grade D)", "worse"]


def test_counts_tell_undecided_from_equal_and_each_reason_has_what_would_decide() -> None:
    undecided = [RatioOutcome("undecided", code) for code in ("grade_d", "grade_d", "one_process")]
    known = [RatioOutcome("better"), RatioOutcome("equal"), None, *undecided]
    assert counted_words(((one, 2.0) for one in known), Speed()) == (
        "faster in 1 of 5 (2 times), equal within 5 % in 1,"
        " undecided in 3 (grade D: 2, one process: 1)"
    )
    first, second = deciding_lines(known, "run-7")
    assert first == "Undecided (grade D): `orchestrator status run-7 --why` tells why."
    assert second.startswith("Undecided (one process): `--profile standard` takes several")
