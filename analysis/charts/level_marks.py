"""Marks of a judged series: points with bars, bands of levels, steps, and the baseline's lines."""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from analysis.charts.chart import Spec
from analysis.charts.layers import POINT_MARK, Point, backend_colour, fields, round_numbers
from analysis.results.metrics import Metric

_MOST_TICKS = 6
_BELOW, _ABOVE = 0.07, 0.16
"""Room below and above the numbers, by the height of them all; labels of steps stand on top."""
_WIDEST_BAND = 1.5
"""The end of a band by the numbers of runs, beyond which the drawing cuts it off."""
_STEP_Y = 9
"""The height of a step's mark below the top, pixels."""
_LINE_HEIGHT = 15


@dataclass(frozen=True)
class Drawn:
    """The rows that one drawing of a series is made of."""

    metric: Metric
    backend: str
    runs: Sequence[Point]
    """By position: `value`, the ends `low` and `high` of its launches, and words."""
    bands: Sequence[Point]
    """From `start` to `end`: `level`, `low` and `high`, and words."""
    steps: Sequence[Point]
    """Behind the position `at`, with words."""
    moments: Sequence[str]
    baseline: float
    threshold: float

    @property
    def limits(self) -> tuple[float, float]:
        """The values that are the threshold away from the baseline."""
        return self.baseline / (1 + self.threshold), self.baseline * (1 + self.threshold)


def layers_of(drawn: Drawn) -> list[Spec]:
    """The layers of the drawing, from the lowest to the highest."""
    axes = _Axes(drawn)
    limits = {
        "data": {"values": [{"limit": limit} for limit in drawn.limits]},
        "mark": {"type": "rule", "strokeDash": [1, 4], "strokeWidth": 1.5},
        "encoding": {"y": axes.y("limit")},
    }
    return [
        *_band_layers(drawn, axes),
        limits,
        *_run_layers(drawn, axes),
        *_step_layers(drawn, axes),
    ]


class _Axes:
    """The axes and the colour that all layers share."""

    def __init__(self, drawn: Drawn) -> None:
        self._x = _run_axis(drawn.moments)
        self._y = _value_axis(drawn)
        self._backend = drawn.backend
        self.colour = backend_colour((drawn.backend,), legend=False)

    def x(self, field: str) -> Spec:
        """A row's place among the runs."""
        return {"field": field, **self._x}

    def y(self, field: str) -> Spec:
        """A value of the metric."""
        return {"field": field, **self._y}

    def rows(self, rows: Iterable[Point]) -> Spec:
        return {"data": {"values": [{**row, "backend": self._backend} for row in rows]}}


def _run_axis(moments: Sequence[str]) -> Spec:
    """An axis on which runs stand side by side, whatever the time between them."""
    count = len(moments)
    apart = math.ceil(count / _MOST_TICKS)
    ticks = [*range(count - 1, -1, -apart)][::-1]
    labels = json.dumps([moments[tick] for tick in ticks])
    return {
        "type": "quantitative",
        "title": "runs in the order of time, UTC",
        "scale": {"domain": [-0.5, count - 0.5], "nice": False, "zero": False},
        "axis": {
            "values": ticks,
            "labelExpr": f"{labels}[round((datum.value - {ticks[0]}) / {apart})]",
            "labelOverlap": "greedy",
            "labelFlush": True,
            "grid": False,
        },
    }


def _value_axis(drawn: Drawn) -> Spec:
    """A logarithmic axis that holds runs and thresholds, and of bands what fits."""
    values = [run[name] for run in drawn.runs for name in ("value", "low", "high")]
    numbers = [*drawn.limits, *(value for value in values if value is not None)]
    low, high = min(numbers), max(numbers)
    ends = [
        min(max(end, low / _WIDEST_BAND), high * _WIDEST_BAND)
        for band in drawn.bands
        for end in (band["low"], band["high"])
    ]
    low, high = min([low, *ends]), max([high, *ends])
    height = math.log(high / low)
    low, high = low * math.exp(-_BELOW * height), high * math.exp(_ABOVE * height)
    return {
        "type": "quantitative",
        "title": drawn.metric.heading,
        "scale": {"type": "log", "domain": [low, high], "nice": False},
        "axis": {"format": ",~g", "values": round_numbers(low, high), "labelOverlap": "greedy"},
    }


def _band_layers(drawn: Drawn, axes: _Axes) -> Iterator[Spec]:
    if not drawn.bands:
        return
    rows = axes.rows(drawn.bands)
    shown = fields(number="level", span="95 of 100 runs", runs="runs at it")
    across = {"x": axes.x("start"), "x2": {"field": "end"}, "color": axes.colour}
    yield {
        **rows,
        "mark": {"type": "rect", "opacity": 0.16, "clip": True},
        "encoding": {**across, "y": axes.y("low"), "y2": {"field": "high"}, "tooltip": shown},
    }
    yield {
        **rows,
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {**across, "y": axes.y("level")},
    }


def _run_layers(drawn: Drawn, axes: _Axes) -> Iterator[Spec]:
    names = ("run", "measured", "commit", "launches", "spread", "grade", "role")
    shown = fields(number=drawn.metric.label, **dict.fromkeys(names))
    x, y, points = axes.x("position"), axes.y("value"), axes.rows(drawn.runs)
    yield {
        **points,
        "transform": [{"filter": "isValid(datum.low)"}],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {"x": x, "y": axes.y("low"), "y2": {"field": "high"}, "color": axes.colour},
    }
    yield {
        **points,
        "mark": POINT_MARK,
        "encoding": {"x": x, "y": y, "color": axes.colour, "shape": axes.colour, "tooltip": shown},
    }
    yield {
        **points,
        "transform": [{"filter": "datum.role"}],
        "mark": {"type": "point", "shape": "circle", "size": 260, "strokeWidth": 1.5, "opacity": 1},
        "encoding": {"x": x, "y": y, "tooltip": shown},
    }
    for role, end, dy in (("baseline", "low", 18), ("judged", "high", -18)):
        value = f"isValid(datum.{end}) ? datum.{end} : datum.value"  # clear of its bar
        yield {
            **points,
            "transform": [
                {"filter": f"datum.role === '{role}'"},
                {"calculate": value, "as": "end"},
            ],
            "mark": {"type": "text", "dy": dy, "fontSize": 11},
            "encoding": {"x": x, "y": axes.y("end"), "text": {"field": "role"}},
        }


def _step_layers(drawn: Drawn, axes: _Axes) -> Iterator[Spec]:
    """A line before the first run of each new level; dashed and hollow where it is accepted."""
    rows = axes.rows(drawn.steps)
    shown = fields(change="step", run=None, date=None, commit=None, reason=None)
    for accepted in sorted({bool(step["accepted"]) for step in drawn.steps}):
        chosen = {**rows, "transform": [{"filter": f"datum.accepted === {str(accepted).lower()}"}]}
        dashes = {"strokeDash": [5, 4]} if accepted else {}
        yield {
            **chosen,
            "mark": {"type": "rule", "strokeWidth": 1.5, **dashes},
            "encoding": {"x": axes.x("at"), "tooltip": shown},
        }
        yield {
            **chosen,
            "mark": {
                "type": "point",
                "shape": "triangle-down",
                "size": 110,
                "opacity": 1,
                "filled": not accepted,
            },
            "encoding": {"x": axes.x("at"), "y": {"value": _STEP_Y}, "tooltip": shown},
        }
    for at_end, line in sorted({(bool(step["at_end"]), int(step["line"])) for step in drawn.steps}):
        chosen_names = f"datum.at_end === {str(at_end).lower()} && datum.line === {line}"
        side = {"align": "right", "dx": -9} if at_end else {"align": "left", "dx": 9}
        yield {
            **rows,
            "transform": [{"filter": chosen_names}],
            "mark": {"type": "text", "fontSize": 11, "baseline": "middle", **side},
            "encoding": {
                "x": axes.x("at"),
                "y": {"value": _STEP_Y + line * _LINE_HEIGHT},
                "text": {"field": "label"},
            },
        }
