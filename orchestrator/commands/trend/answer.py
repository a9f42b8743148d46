"""Trends: a metric over time, from all results that a selection holds, older ones included."""

from dataclasses import dataclass, replace
from pathlib import Path

from analysis.charts.chart import Chart
from analysis.charts.history.trends import trend_chart
from analysis.results.metrics import metric_of
from analysis.trend.trends import Trends, trends_of
from orchestrator.commands.results.selection import SelectionRequest
from runner.contract.errors import NothingToDo


@dataclass(frozen=True)
class TrendAnswer:
    """A metric over time."""

    database: Path
    trends: Trends

    def chart(self) -> Chart:
        """The drawing of the series with the greatest change."""
        return trend_chart(self.trends)


def report_trend(request: SelectionRequest, metric: str, *, per_host: bool = False) -> TrendAnswer:
    """A metric of every series that was measured more than once."""
    with replace(request, every=True).open() as (store, selection):
        trends = trends_of(store, selection, metric_of(metric, store), per_host=per_host)
    if not trends.series:
        raise _nothing(request, trends)
    return TrendAnswer(request.database, trends)


def _nothing(request: SelectionRequest, trends: Trends) -> NothingToDo:
    label = trends.metric.label
    if not trends.once:
        return NothingToDo(
            f"{request.database}: no selected result has a value of {label}",
            hint="drop a filter, or see what there is: `orchestrator status`",
        )
    noun = "series was" if trends.once == 1 else "series were"
    message = f"{request.database}: nothing was measured twice: {trends.once:,} {noun} once"
    if request.run is not None:
        return NothingToDo(
            f"{message} in that run", hint="a run measures each cell once: leave out `--run`"
        )
    return NothingToDo(message, hint="measure again with the same matrix: `orchestrator run`")
