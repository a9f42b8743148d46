"""The contention study's judgement of a row: as near to the quiet median as its grade says."""

import pytest

from performance.contention import ContendedRow, keeps_promise, loads, quiet_medians, report
from tests.support.results import a_row


@pytest.mark.parametrize(
    ("grade", "precision", "times", "kept"),
    [
        ("A", 0.01, 1.005, True),
        ("A", 0.01, 1.02, False),
        ("B", 0.01, 1.04, True),
        ("B", 0.01, 1.06, False),
        ("B", 0.10, 1.06, True),
        ("C", 0.01, 1.19, True),
        ("C", 0.01, 0.82, False),
        ("C", 0.01, 19.0, False),
    ],
)
def test_a_row_is_as_near_to_the_quiet_median_as_its_grade_says(
    grade: str, precision: float, times: float, kept: bool
) -> None:
    assert keeps_promise(contended(grade, times, precision).row, 10.0) is kept


@pytest.mark.parametrize(
    ("repeats", "rounds", "busy"),
    [(2, 1, [0, 1, 2, 4] * 2), (4, 12, [0, 1, 0, 2, 0, 4, 0, 1])],
)
def test_each_load_has_its_turn(repeats: int, rounds: int, busy: list[int]) -> None:
    assert list(loads(repeats, rounds)) == busy


def contended(grade: str, times: float, precision: float = 0.01, busy: int = 2) -> ContendedRow:
    median = 10.0 * times
    row = a_row(
        "cell",
        grade=grade,
        latency_median_ms=median,
        latency_median_low_ms=median * (1 - precision),
        latency_median_high_ms=median * (1 + precision),
    )
    return ContendedRow(busy, row)


def test_rows_of_grade_d_promise_nothing_and_broken_promises_fail_the_study(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quiet = [contended("C", times, busy=0) for times in (0.9, 1.0, 1.1)]
    assert quiet_medians([*quiet, contended("C", 5)]) == {"cell": 10.0}
    assert report([*quiet, contended("D", 5)]) == 0
    assert report([*quiet, contended("C", 5)]) == 1
    assert "broken: cell, 2 busy, grade C, 5.00 times" in capsys.readouterr().out
