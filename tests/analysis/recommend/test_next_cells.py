"""Proposed cells narrow the predictions of the others most, and spread over them."""

from collections import Counter

import numpy as np
import pytest

from analysis.predict.effects import design_of
from analysis.predict.examples.placements import Placement
from analysis.recommend.next_cells import propose_cells, remaining_covariance
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


def test_shares_are_of_predicted_intervals_where_they_are_known() -> None:
    first, *_ = plain = propose_cells(GRID, [], 4)
    likeness = abs(remaining_covariance(GRID, [])[first.index])
    wide = [100.0 if alike > np.median(likeness) else 0.01 for alike in likeness]
    weighted = propose_cells(GRID, [], 4, half_widths=wide)
    assert [cell.index for cell in weighted] == [cell.index for cell in plain]
    assert weighted[0].interval_share < first.interval_share


WANTED = [
    a_placement(f"net-{number}", device, batch_size=2)
    for number in (1, 2, 3)
    for device in ("big", "small")
]
KNOWN = [a_placement("net-1", "big", 4), a_placement("net-2", "small", 2), a_placement("other-1")]


def explicit(wanted: list[Placement], known: list[Placement]) -> np.ndarray:
    """The same by the precision of the coefficients, one row for each measurement."""
    distinct = [*dict.fromkeys(known)]
    rows = design_of([*wanted, *distinct], "whole").matrix.toarray()
    places = [len(wanted) + distinct.index(placement) for placement in known]
    precision = np.eye(rows.shape[1]) + rows[places].T @ rows[places]
    return rows[: len(wanted)] @ np.linalg.solve(precision, rows[: len(wanted)].T)


@pytest.mark.parametrize("known", [[], KNOWN, [*KNOWN, KNOWN[0], KNOWN[0]]])
def test_the_covariance_is_that_of_the_coefficients(known: list[Placement]) -> None:
    assert remaining_covariance(WANTED, known) == pytest.approx(explicit(WANTED, known), abs=1e-9)
