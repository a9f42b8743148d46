"""Steps of series: change points where there are launches enough for them, else neighbours."""

from collections.abc import Callable, Sequence
from typing import TypeAlias

from analysis.compare.intervals import key_of
from analysis.compare.values import MetricValue
from analysis.regress.launches import LEAST_HISTORY, PastResult, launches_by_result
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.trend.series import TrendSeries, TrendStep, neighbour_steps
from runner.contract.errors import UsageError

_FindSteps: TypeAlias = Callable[
    [Sequence[MetricValue], Sequence[PastResult]], tuple[TrendStep, ...]
]


def with_steps(
    source: ArrowSource,
    selection: Selection,
    metric: Metric,
    several: Sequence[Sequence[MetricValue]],
) -> list[TrendSeries]:
    """The series with their steps.

    Those of a series with `LEAST_HISTORY` launches are its change points, if the extra `analysis`
    is there; others are neighbours that differ.

    Args:
        source: the database.
        selection: the results that the series are of.
        metric: the metric.
        several: the results of each series in the order of time.
    """
    cells = {values[0].cell_id for values in several if is_long(values)}
    find = _level_steps() if cells else None
    launches = launches_by_result(source, selection, metric, cells) if find else {}
    return [
        _series(metric, values, find, [launches.get(key_of(value)) for value in values])
        for values in several
    ]


def is_long(values: Sequence[MetricValue]) -> bool:
    """True if a series has launches enough for change points."""
    return sum(value.facts["rounds"] or 1 for value in values) >= LEAST_HISTORY


def _series(
    metric: Metric,
    values: Sequence[MetricValue],
    find: _FindSteps | None,
    launches: Sequence[PastResult | None],
) -> TrendSeries:
    history = [past for past in launches if past is not None]
    if find is None or len(history) < len(values) or not is_long(values):
        return TrendSeries(metric, tuple(values), neighbour_steps(values))
    return TrendSeries(metric, tuple(values), find(values, history), by_level=True)


def _level_steps() -> _FindSteps | None:
    """The search for change points; None where the extra `analysis` is not installed."""
    try:
        from analysis.trend.levels import level_steps
    except UsageError:
        return None
    return level_steps
