"""Judged series drawn: the changes of all cells side by side, and the history of each."""

import math
from collections.abc import Sequence
from dataclasses import replace

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    UPRIGHT,
    Point,
    backends_of,
    error_bars,
    fields,
    point_layers,
    round_numbers,
    row_chart,
    row_names,
)
from analysis.charts.levels import levels_chart, reading_words
from analysis.charts.words import distinct_rows, noun_count
from analysis.regress.cases import Case
from analysis.regress.judgements import Judgement, Judgements
from analysis.statistics.ratios import Estimate, change_words

MOST_DRAWN = 12
"""Series that a report draws; others are counted."""
_MOST_ROWS = 30
_WIDEST = 1.25
"""The end of an interval by the changes themselves, beyond which the drawing cuts it off."""
_ROOM = 0.06
"""Room on both sides, by the width of all numbers."""


def regression_chart(judgements: Judgements) -> Chart | None:
    """The series with the greatest regression, else the first one judged; None without any."""
    for chart in regression_charts(judgements, 1):
        return replace(chart, sentence=f"{chart.sentence} {reading_words(judgements.threshold)}")
    return None


def regression_charts(judgements: Judgements, most: int = MOST_DRAWN) -> tuple[Chart, ...]:
    """A chart for each judged series, in the order of verdicts; the last one counts the rest."""
    judged = [(one, one.case) for one in judgements.judgements if one.case is not None]
    charts = [levels_chart(one, case, judgements.threshold) for one, case in judged[:most]]
    if rest := [one.verdict for one, _ in judged[most:]]:
        counts = ", ".join(f"{rest.count(verdict):,} {verdict}" for verdict in dict.fromkeys(rest))
        series = "series is" if len(rest) == 1 else "series are"
        words = f" {len(rest):,} more {series} not drawn ({counts}): choose them with `--select`."
        charts[-1] = replace(charts[-1], sentence=charts[-1].sentence + words)
    return tuple(charts)


def change_chart(judgements: Judgements) -> Chart | None:
    """The changes of all cells with their verdicts; None if no two results have a ratio."""
    judged = [
        (one, one.case, one.ratio)
        for one in judgements.judgements
        if one.case is not None and one.ratio is not None
    ]
    if len(judged) < 2:
        return None
    shown = judged[:_MOST_ROWS]
    names = distinct_rows((one.cell_id, one.metric.label) for one, _, _ in shown)
    points = [
        _point(name, judgement, case, ratio)
        for name, (judgement, case, ratio) in zip(names, shown, strict=True)
    ]
    left_out = len(judged) - len(shown)
    more = f" Not drawn: {noun_count(left_out, 'other cell')}." if left_out else ""
    return Chart(
        "changes",
        f"Changes from {judgements.base} to {judgements.run}",
        "The change of each cell with its 95 % interval; within the dotted lines it is less than"
        f" {100 * judgements.threshold:g} %.{more}",
        _spec(points, judgements.threshold),
        backends_of(points),
    )


def _point(name: str, judgement: Judgement, case: Case, ratio: Estimate) -> Point:
    is_bounded = ratio.low > 0 and ratio.high < math.inf
    return {
        "row": f"{judgement.verdict}: {name}",
        "backend": str(case.after.facts["backend"]),
        "value": ratio.value,
        "low": ratio.low if is_bounded else None,
        "high": ratio.high if is_bounded else None,
        "number": change_words(ratio),
        "metric": judgement.metric.label,
        "verdict": judgement.verdict,
        "reason": judgement.reason,
        "imported": False,
    }


def _spec(points: Sequence[Point], threshold: float) -> Spec:
    limits = [1 / (1 + threshold), 1 + threshold]
    axis = _axis(points, limits)
    shown = fields(number="change", metric=None, verdict=None, reason=None)
    lines: Spec = {
        "data": {"values": [{"value": limit} for limit in limits]},
        "mark": {"type": "rule", "strokeDash": [1, 4], "strokeWidth": 1.5},
        "encoding": {"x": axis, **UPRIGHT},
    }
    bars = [{**one, "mark": {**one["mark"], "clip": True}} for one in error_bars(points, "x")]
    return row_chart(points, axis, [lines, row_names(), *bars, *point_layers(points, shown)])


def _axis(points: Sequence[Point], limits: Sequence[float]) -> Spec:
    """A logarithmic axis of ratios, labelled in percent."""
    numbers = [*limits, *(point["value"] for point in points)]
    low, high = min(numbers), max(numbers)
    ends = [
        min(max(point[end], low / _WIDEST), high * _WIDEST)
        for point in points
        for end in ("low", "high")
        if point[end] is not None
    ]
    low, high = min([low, *ends]), max([high, *ends])
    room = math.exp(_ROOM * math.log(high / low))
    low, high = low / room, high * room
    return {
        "field": "value",
        "type": "quantitative",
        "title": "change",
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {
            "values": [1 + share for share in round_numbers(low - 1, high - 1)],
            "labelExpr": "format(100 * (datum.value - 1), '+.3~r') + ' %'",
            "labelOverlap": "greedy",
        },
    }
