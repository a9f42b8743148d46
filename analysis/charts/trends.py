"""Trends drawn: each series over time, by its own first value where there are several."""

from collections.abc import Sequence

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    Point,
    backends_of,
    error_bars,
    line_layer,
    log_axis,
    point_layers,
    point_of,
    tooltip,
)
from analysis.charts.words import file_stem, noun_count, remainder_words
from analysis.statistics.numbers import amount
from analysis.trend.trends import Trends, TrendSeries

MOST_LINES = 20
"""Series of one drawing, those with the greatest change; others are in the table."""
_MOST_POINTS = 100
"""Results of one line; of longer series the newest are drawn."""


def trend_chart(trends: Trends) -> Chart:
    """The series with the greatest change over time."""
    drawn, metric = trends.series[:MOST_LINES], trends.metric
    first = drawn[0].cell_id if len(drawn) == 1 else None
    points = [point for one in drawn for point in _points(one, alone=first is not None)]
    subject = first or f"by the first value of {noun_count(len(drawn), 'cell')}"
    axis_title = metric.heading if first else f"{metric.label}, times the first"
    return Chart(
        file_stem("trend", metric.name, first),
        f"{metric.label.capitalize()} over time, {subject}",
        _sentence(trends, drawn),
        _spec(points, metric.label, axis_title),
        backends_of(points),
    )


def _points(series: TrendSeries, *, alone: bool) -> list[Point]:
    changed = {str(step.after.facts["result_id"]): step.changes or () for step in series.steps}
    first = 1.0 if alone else series.first.value
    points = []
    for value in series.values[-_MOST_POINTS:]:
        interval, facts = value.interval, value.facts
        words = changed.get(str(facts["result_id"]))
        points.append(
            {
                **point_of(value, series.metric, undecided=value.grade == "D"),
                "value": value.value / first,
                "low": interval and interval.low / first,
                "high": interval and interval.high / first,
                "time": facts["measured_at"].isoformat(),
                "run": facts["run_id"],
                "path": value.cell_id,
                "step": words is not None,
                "changes": "" if words is None else "; ".join(words) or "nothing that is known",
            }
        )
    return points


def _spec(points: Sequence[Point], label: str, axis_title: str) -> Spec:
    ring: Spec = {
        "transform": [{"filter": "datum.step"}],
        "mark": {"type": "point", "shape": "circle", "size": 320, "strokeWidth": 1.5, "opacity": 1},
    }
    rings = [ring] if any(point["step"] for point in points) else []
    shown = tooltip(label, "run", "changes")
    time = {"labelOverlap": "greedy", "labelFlush": True, "tickCount": 5, "grid": False}
    return {
        "data": {"values": points},
        "encoding": {
            "x": {
                "field": "time",
                "type": "temporal",
                "title": "measured at, UTC",
                "axis": time,
                "scale": {"type": "utc", "padding": 14},
            },
            "y": log_axis("value", axis_title, points),
        },
        "layer": [line_layer(points), *error_bars(points), *point_layers(points, shown), *rings],
    }


def _sentence(trends: Trends, drawn: Sequence[TrendSeries]) -> str:
    unit, top = trends.metric.unit, drawn[0]
    subject = "It goes" if len(drawn) == 1 else f"The greatest change is that of {top.cell_id},"
    left_out = len(trends.series) - len(drawn) + trends.left_out
    steps = sum(len(one.steps) for one in drawn)
    outcome = top.outcome.words(trends.metric)
    is_hollow = any(one.grade == "D" for series in drawn for one in series.values)
    hollow = " Hollow points are of grade D, which leaves all undecided." if is_hollow else ""
    rings = f" Rings mark {noun_count(steps, 'step')}." if steps else ""
    return (
        f"{subject} from {amount(top.first.value, unit)} to {amount(top.last.value, unit)}, times"
        f" {amount(top.ratio)}: {outcome}.{rings}{hollow}"
        f"{remainder_words(left_out, 'line', 'with less change are not drawn.')}"
    )
