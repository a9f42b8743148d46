"""The covariance of effects is that of the linear model, however its products are taken."""

import numpy as np
import pytest

from analysis.predict.effects import design_of
from analysis.predict.examples.placements import Placement
from analysis.recommend.next_cells import remaining_covariance
from tests.analysis.predict.examples import a_placement

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
