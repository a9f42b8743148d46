"""Proposed cells narrow the predictions of the others most, and spread over them."""

from collections import Counter

import numpy as np
import pytest

from analysis.predict.examples.placements import Placement
from analysis.recommend import next_cells
from analysis.recommend.next_cells import propose_cells, remaining_covariance, weighed_numbers
from tests.analysis.predict.examples import a_placement

DEVICES = ("big", "small")
GRID = [
    a_placement(f"{family}-{number}", device, work=number)
    for family in ("net", "other")
    for number in (1, 2, 3)
    for device in DEVICES
]


def proposed(known: list[Placement], limit: int, **facts: object) -> list[int]:
    cells = propose_cells(GRID, known, limit, **facts)  # type: ignore[arg-type]
    return [cell.index for cell in cells]


@pytest.mark.parametrize("known", [[], [GRID[0]], [GRID[5], a_placement("third-1")]])
def test_the_first_cell_leaves_least_variance_of_all(known: list[Placement]) -> None:
    left = [remaining_covariance(GRID, [*known, cell]).trace() for cell in GRID]
    (first,) = proposed(known, 1)
    assert left[first] == pytest.approx(min(left), rel=0.01)


def test_the_second_cell_is_the_best_after_the_first() -> None:
    first, second = proposed([], 2)
    assert proposed([GRID[first]], 1) == [second]


def test_cells_spread_over_models_and_devices() -> None:
    cells = [GRID[number] for number in proposed([], 6)]
    assert len({cell.model for cell in cells}) >= 5
    assert min(Counter(cell.device.key for cell in cells).values()) >= 2
    assert min(Counter(cell.architecture for cell in cells).values()) >= 2


def test_no_cell_is_proposed_twice_and_none_beyond_those_there_are() -> None:
    assert sorted(proposed([], 99)) == list(range(len(GRID)))


def test_intervals_shrink_with_every_cell() -> None:
    shares = [cell.interval_share for cell in propose_cells(GRID, [], len(GRID) - 1)]
    assert shares == sorted(shares, reverse=True)
    assert 0 < shares[-1] < shares[0] < 1
    narrowest = np.sqrt(remaining_covariance(GRID, GRID).diagonal() + 1).min()
    widest = np.sqrt(remaining_covariance(GRID, []).diagonal() + 1).max()
    assert shares[-1] > narrowest / widest


def test_time_counts_where_it_is_asked_for() -> None:
    (first,) = proposed([], 1)
    seconds = [1000.0 if number == first else 1.0 for number in range(len(GRID))]
    assert proposed([], 1, seconds=seconds) != [first]
    assert first not in proposed([], len(GRID) - 1, seconds=seconds)


def test_shares_are_of_predicted_intervals_where_they_are_known() -> None:
    first, *_ = plain = propose_cells(GRID, [], 4)
    likeness = abs(remaining_covariance(GRID, [])[first.index])
    wide = [100.0 if alike > np.median(likeness) else 0.01 for alike in likeness]
    weighted = propose_cells(GRID, [], 4, half_widths=wide)
    assert [cell.index for cell in weighted] == [cell.index for cell in plain]
    assert weighted[0].interval_share < first.interval_share


def test_of_too_many_candidates_the_same_ones_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    assert weighed_numbers(7) == list(range(7))
    monkeypatch.setattr(next_cells, "MOST_WEIGHED", 5)
    drawn = weighed_numbers(100)
    assert len(set(drawn)) == 5
    assert drawn == sorted(drawn) == weighed_numbers(100)
    assert max(drawn) > 20
