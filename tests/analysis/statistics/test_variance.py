"""Variance components and the spread of a difference, against hand calculations and simulation."""

import math

import pytest

from analysis.statistics.arrays import np
from analysis.statistics.variance import RunPrior, VarianceComponents, variance_components

NOTHING = RunPrior(ratio=0.0, degrees=1e-9, known_degrees=1e9, known_launches=5)
HALF = RunPrior(ratio=0.5, degrees=4, known_degrees=1e9, known_launches=5)


def test_mean_squares_are_those_of_a_table_by_hand() -> None:
    """Runs 1 3 and 5 7 of one level: means 2 and 6 about 4; run 10 14 of another adds launches."""
    assert variance_components([[[1, 3], [5, 7]], [[10, 14]]]) == VarianceComponents(
        within=(2 + 2 + 8) / 3,
        within_degrees=3,
        between=2 * (2 - 4) ** 2 + 2 * (6 - 4) ** 2,
        between_degrees=1,
        launches_per_run=2.0,
    )


def test_runs_of_different_size_count_for_less_than_their_mean() -> None:
    components = variance_components([[[0.0] * 1, [0.0] * 3]])
    assert components is not None
    assert components.launches_per_run == pytest.approx(4 - (1 + 9) / 4)


@pytest.mark.parametrize(
    ("before", "after", "variance"),
    [
        # Runs vary by (9 - 4) / 5 = 1, launches by 4.
        ([5], [5], 2 * 1 + 4 * 2 / 5),
        ([1], [1], 2 * 1 + 4 * 2),
        ([5] * 4, [5], (1 / 4 + 1) * 1 + 4 * (1 / 20 + 1 / 5)),
    ],
)
def test_with_many_runs_the_spread_is_that_of_both_variances(
    before: list[int], after: list[int], variance: float
) -> None:
    components = VarianceComponents(4.0, 4_000, 9.0, 1_000, 5.0)
    spread = components.difference(before, after, NOTHING)
    assert spread.error == pytest.approx(math.sqrt(variance))


def test_without_runs_the_prior_says_what_they_add() -> None:
    spread = VarianceComponents(4.0, 8, 0.0, 0, 1.0).difference([5], [5], HALF)
    assert spread.error == pytest.approx(math.sqrt(4 * (2 / 5 + 2 * 0.25)))
    assert spread.degrees == pytest.approx(8)


def test_few_runs_are_drawn_to_the_prior_and_many_are_not() -> None:
    """The prior expects a mean square between runs of 4 × (1 + 5 / 4) = 9; the runs say 0 or 40."""
    few, many = (VarianceComponents(4.0, 80, 40.0, runs, 5.0) for runs in (4, 4_000))
    middle = few.difference([5], [5], HALF).error ** 2
    assert middle == pytest.approx(2 / 5 * (40 + 9) / 2)
    assert many.difference([5], [5], HALF).error ** 2 == pytest.approx(2 / 5 * 40, rel=1e-2)
    lucky = VarianceComponents(4.0, 80, 0.0, 4, 5.0).difference([5], [5], HALF)
    assert lucky.error**2 == pytest.approx(2 / 5 * 9 / 2)


def test_series_of_single_launches_tell_their_spread_by_runs_alone() -> None:
    components = variance_components([[[1.0], [3.0], [5.0]]])
    assert components is not None
    spread = components.difference([1], [1], HALF)
    assert (spread.error, spread.degrees) == (pytest.approx(math.sqrt(2 * 4)), 2)


def test_a_standard_error_is_right_on_average() -> None:
    """Runs with deviation 1, launches with 2: the simulated differences have that variance."""
    random = np.random.default_rng(19)
    estimates, differences = [], []
    for _ in range(400):
        runs = random.normal(0, 1, (10, 1)) + random.normal(0, 2, (10, 5))
        components = variance_components([[list(run) for run in runs[:-2]]])
        assert components is not None
        estimates.append(components.difference([5], [5], HALF).error ** 2)
        differences.append(runs[-1].mean() - runs[-2].mean())
    truth = 2 * 1 + 4 * 2 / 5
    assert np.mean(estimates) == pytest.approx(truth, rel=0.1)
    assert np.var(differences) == pytest.approx(truth, rel=0.2)
