"""Bands of a series: where its runs lie at each level, by the noise between launches and runs."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

from analysis.regress.launches import PastResult
from analysis.regress.steps import Levels
from analysis.regress.study import RUN_PRIOR
from analysis.statistics.significance import student_quantile
from analysis.statistics.variance import VarianceComponents, variance_components
from runner.contract.confidence import INTERVAL_CONFIDENCE


@dataclass(frozen=True)
class Band:
    """The range in which one level of a series leads to expect a further run."""

    level: float
    """The mean of its launches, in the metric's unit."""
    low: float
    """The least value that 95 of 100 further runs would have."""
    high: float
    """The greatest one."""


def bands_of(levels: Levels) -> tuple[Band | None, ...]:
    """The band of each level, in their order; None for all where nothing tells the noise.

    They are prediction intervals for the mean of one more run with as many launches as the runs of
    the level usually have: Student's t times the standard error of its difference from the level's
    mean. The variance of launches and of runs is that of all levels together.
    """
    results = levels.results
    components = variance_components([[past.logarithms for past in level] for level in results])
    if components is None:
        return (None,) * len(results)
    return tuple(_band(level, components) for level in results)


def _band(level: Sequence[PastResult], components: VarianceComponents) -> Band:
    launches = [len(past.logarithms) for past in level]
    mean = fmean(value for past in level for value in past.logarithms)
    spread = components.difference(launches, [round(median(launches))], RUN_PRIOR)
    margin = student_quantile(INTERVAL_CONFIDENCE, spread.degrees) * spread.error
    return Band(*(math.exp(value) for value in (mean, mean - margin, mean + margin)))
