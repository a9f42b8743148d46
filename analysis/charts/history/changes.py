"""Changes of all judged cells drawn side by side: each with its interval, beside the threshold."""

import math
from collections.abc import Sequence
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    Point,
    backends_of,
    error_bars,
    named_rows,
    point_layers,
    round_numbers,
    row_names,
)
from analysis.charts.words import distinct_rows, noun_count
from analysis.regress.cases import Case
from analysis.regress.judgements import Judgement, Judgements
from analysis.statistics.numbers import change_words
from analysis.statistics.ratios import Estimate

_MOST_ROWS = 30
_STEP = 34
"""Height of a row with its words above the mark, pixels."""
_WIDEST = 1.25
"""The end of an interval by the changes themselves, beyond which the drawing cuts it off."""
_ROOM = 0.06
"""Room on both sides, by the width of all numbers."""


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
    points = _points(shown)
    left_out = len(judged) - len(shown)
    more = f" Not drawn: {noun_count(left_out, 'other cell')}."
    return Chart(
        "changes",
        f"Changes from {judgements.base} to {judgements.run}",
        "The change of each cell with its 95 % interval; within the dotted lines it is less than"
        f" {100 * judgements.threshold:g} %.{more if left_out else ''}",
        _spec(points, judgements.threshold),
        backends_of(points),
    )


def _points(judged: Sequence[tuple[Judgement, Case, Estimate]]) -> list[Point]:
    names = distinct_rows((one.cell_id, one.metric.label) for one, _, _ in judged)
    return [
        {
            "row": f"{judgement.verdict}: {name}",
            "backend": str(case.after.facts["backend"]),
            "value": ratio.value,
            **_interval(ratio),
            "number": change_words(ratio),
            "metric": judgement.metric.label,
            "verdict": judgement.verdict,
            "reason": judgement.reason,
            "imported": False,
        }
        for name, (judgement, case, ratio) in zip(names, judged, strict=True)
    ]


def _interval(ratio: Estimate) -> dict[str, float | None]:
    """The ends of an interval that a drawing can hold."""
    known = ratio.low > 0 and ratio.high < math.inf
    return {"low": ratio.low if known else None, "high": ratio.high if known else None}


def _spec(points: Sequence[Point], threshold: float) -> Spec:
    limits = [1 / (1 + threshold), 1 + threshold]
    axis = _axis(points, limits)
    shown = [
        {"field": "number", "title": "change"},
        *({"field": name} for name in ("metric", "verdict", "reason")),
    ]
    rows = named_rows([point["row"] for point in points], _STEP)
    lines: Spec = {
        "data": {"values": [{"value": limit} for limit in limits]},
        "mark": {"type": "rule", "strokeDash": [1, 4], "strokeWidth": 1.5},
        "encoding": {"x": axis, "y": {"value": 0}, "y2": {"value": "height"}},
    }
    bars = [{**one, "mark": {**one["mark"], "clip": True}} for one in error_bars(points, "x")]
    return {
        "data": {"values": points},
        **rows,
        "encoding": {**rows["encoding"], "x": axis},
        "layer": [lines, row_names(), *bars, *point_layers(points, shown)],
    }


def _axis(points: Sequence[Point], limits: Sequence[float]) -> dict[str, Any]:
    """A logarithmic axis of ratios, labelled in percent."""
    numbers = [*limits, *(point["value"] for point in points)]
    low, high = min(numbers), max(numbers)
    ends = [
        min(max(point[end], low / _WIDEST), high * _WIDEST)
        for point in points
        for end in ("low", "high")
        if point[end] is not None
    ]
    low, high = min(low, *ends), max(high, *ends)
    room = math.exp(_ROOM * math.log(high / low))
    return {
        "field": "value",
        "type": "quantitative",
        "title": "change",
        "scale": {"type": "log", "domain": [low / room, high * room], "nice": False},
        "axis": {
            "values": [1 + share for share in round_numbers(low / room - 1, high * room - 1)],
            "labelExpr": "format(100 * (datum.value - 1), '+.3~r') + ' %'",
            "labelOverlap": "greedy",
        },
    }
