"""Errors of predictions against what was measured, and what their intervals held."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.statistics.arrays import np

NEAR = 0.10
"""The relative error up to which a prediction counts as near."""


@dataclass(frozen=True)
class Accuracy:
    """Errors of predictions, relative to what was measured: 0.1 for 10 %."""

    questions: int
    mape: float
    """The mean of absolute relative errors."""
    median_ape: float
    """Their median."""
    within_tenth: float
    """The share of predictions that are off by 10 % at most."""
    bias: float
    """The median of relative errors with their signs: above 0 where predictions are too high."""


@dataclass(frozen=True)
class IntervalQuality:
    """Intervals against what was measured."""

    questions: int
    coverage: float
    """The share of intervals that hold what was measured."""
    half_width: float
    """The median of √(high / low): 1.2 for an interval from a sixth less to a fifth more."""


def accuracy_of(measured: Sequence[float], predicted: Sequence[float]) -> Accuracy | None:
    """The errors of predictions; None if there are none.

    Args:
        measured: what was measured, above 0; (n,).
        predicted: what was predicted of each, in the same unit; (n,).
    """
    if not measured:
        return None
    errors = np.asarray(predicted) / np.asarray(measured) - 1
    sizes = np.abs(errors)
    return Accuracy(
        questions=len(measured),
        mape=float(sizes.mean()),
        median_ape=float(np.median(sizes)),
        within_tenth=float((sizes <= NEAR).mean()),
        bias=float(np.median(errors)),
    )


def interval_quality(
    measured: Sequence[float], lows: Sequence[float], highs: Sequence[float]
) -> IntervalQuality | None:
    """The quality of intervals; None if there are none.

    Args:
        measured: what was measured, above 0; (n,).
        lows: the lower ends, above 0; (n,).
        highs: the upper ends; (n,).
    """
    if not measured:
        return None
    values, low, high = map(np.asarray, (measured, lows, highs))
    return IntervalQuality(
        questions=len(measured),
        coverage=float(((low <= values) & (values <= high)).mean()),
        half_width=float(np.median(np.sqrt(high / low))),
    )
