"""Marks of a judged series: points with bars, bands of levels, steps, and lines of the baseline."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.charts.chart import Spec
from analysis.charts.layers import Point, backend_colour, round_numbers
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
    """The moment of each run."""
    baseline: float
    threshold: float
    """The least relative change that matters."""

    @property
    def limits(self) -> tuple[float, float]:
        """The values that are the threshold away from the baseline."""
        return self.baseline / (1 + self.threshold), self.baseline * (1 + self.threshold)


def layers_of(drawn: Drawn) -> dict[str, Any]:
    """The layers of the drawing, from the lowest to the highest."""
    axes = _Axes(drawn)
    return {
        "layer": [
            *_band_layers(drawn, axes),
            *_baseline_layers(drawn, axes),
            *_run_layers(drawn, axes),
            *_step_layers(drawn, axes),
        ]
    }


class _Axes:
    """The axes that all layers share."""

    def __init__(self, drawn: Drawn) -> None:
        self._x = _run_axis(drawn.moments)
        self._y = _value_axis(drawn)

    def x(self, field: str) -> Spec:
        """A row's place among the runs."""
        return {"field": field, **self._x}

    def y(self, field: str) -> Spec:
        """A value of the metric."""
        return {"field": field, **self._y}


def _run_axis(moments: Sequence[str]) -> dict[str, Any]:
    """An axis on which runs stand side by side, whatever the time between them."""
    count = len(moments)
    apart = math.ceil(count / _MOST_TICKS)
    ticks = [*range(count - 1, -1, -apart)][::-1]
    labels = json.dumps([moments[tick] for tick in ticks])
    first = ticks[0]
    return {
        "type": "quantitative",
        "title": "runs in the order of time, UTC",
        "scale": {"domain": [-0.5, count - 0.5], "nice": False, "zero": False},
        "axis": {
            "values": ticks,
            "labelExpr": f"{labels}[round((datum.value - {first}) / {apart})]",
            "labelOverlap": "greedy",
            "labelFlush": True,
            "grid": False,
        },
    }


def _value_axis(drawn: Drawn) -> dict[str, Any]:
    """A logarithmic axis that holds runs and thresholds, and of bands what fits."""
    low, high = _ends(_numbers(drawn.runs), drawn.limits)
    inside = [
        min(max(end, low / _WIDEST_BAND), high * _WIDEST_BAND)
        for band in drawn.bands
        for end in (band["low"], band["high"])
    ]
    low, high = _ends(inside, (low, high))
    height = math.log(high / low)
    domain = [low * math.exp(-_BELOW * height), high * math.exp(_ABOVE * height)]
    return {
        "type": "quantitative",
        "title": drawn.metric.heading,
        "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": {
            "format": ",~g",
            "values": round_numbers(domain[0], domain[1]),
            "labelOverlap": "greedy",
        },
    }


def _numbers(rows: Iterable[Point]) -> list[float]:
    numbers = (row[name] for row in rows for name in ("value", "low", "high"))
    return [number for number in numbers if number is not None]


def _ends(*numbers: Iterable[float]) -> tuple[float, float]:
    known = [number for several in numbers for number in several]
    return min(known), max(known)


def _coloured(drawn: Drawn) -> dict[str, Any]:
    """The colour of the backend, which the title names."""
    return {"color": {**backend_colour((drawn.backend,)), "legend": None}}


def _rows(drawn: Drawn, rows: Iterable[Point]) -> Spec:
    return {"values": [{**row, "backend": drawn.backend} for row in rows]}


def _band_layers(drawn: Drawn, axes: _Axes) -> list[Spec]:
    if not drawn.bands:
        return []
    shown = _tooltip(number="level", span="95 of 100 runs", runs="runs at it")
    across = {"x": axes.x("start"), "x2": {"field": "end"}, **_coloured(drawn)}
    return [
        {
            "data": _rows(drawn, drawn.bands),
            "mark": {"type": "rect", "opacity": 0.16, "clip": True},
            "encoding": {**across, "y": axes.y("low"), "y2": {"field": "high"}, "tooltip": shown},
        },
        {
            "data": _rows(drawn, drawn.bands),
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {**across, "y": axes.y("level")},
        },
    ]


def _baseline_layers(drawn: Drawn, axes: _Axes) -> list[Spec]:
    """Dotted lines on both sides of the baseline, the threshold away from it."""
    return [
        {
            "data": {"values": [{"limit": limit} for limit in drawn.limits]},
            "mark": {"type": "rule", "strokeDash": [1, 4], "strokeWidth": 1.5},
            "encoding": {"y": axes.y("limit")},
        }
    ]


def _run_layers(drawn: Drawn, axes: _Axes) -> list[Spec]:
    shown = _tooltip(
        *("run", "measured", "commit", "launches", "spread", "grade", "role"),
        number=drawn.metric.label,
    )
    middle = {"x": axes.x("position"), "y": axes.y("value")}
    of_launches = {"x": axes.x("position"), "y": axes.y("low"), "y2": {"field": "high"}}
    points = {"data": _rows(drawn, drawn.runs)}
    return [
        {
            **points,
            "transform": [{"filter": "isValid(datum.low)"}],
            "mark": {"type": "rule", "strokeWidth": 1.5},
            "encoding": {**of_launches, **_coloured(drawn)},
        },
        {
            **points,
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {
                **middle,
                **_coloured(drawn),
                "shape": {**backend_colour((drawn.backend,)), "legend": None},
                "tooltip": shown,
            },
        },
        {
            **points,
            "transform": [{"filter": "datum.role"}],
            "mark": {
                "type": "point",
                "shape": "circle",
                "size": 260,
                "strokeWidth": 1.5,
                "opacity": 1,
            },
            "encoding": {**middle, "tooltip": shown},
        },
        _role_names(points, axes, "baseline", "low", below=True),
        _role_names(points, axes, "judged", "high", below=False),
    ]


def _role_names(points: Spec, axes: _Axes, role: str, field: str, *, below: bool) -> Spec:
    """The name of a run's role, clear of its bar."""
    field = f"datum.{field}"
    end = f"isValid({field}) ? {field} : datum.value"
    return {
        **points,
        "transform": [{"filter": f"datum.role === '{role}'"}, {"calculate": end, "as": "end"}],
        "mark": {"type": "text", "dy": 18 if below else -18, "fontSize": 11},
        "encoding": {"x": axes.x("position"), "y": axes.y("end"), "text": {"field": "role"}},
    }


def _step_layers(drawn: Drawn, axes: _Axes) -> list[Spec]:
    """A line before the first run of each new level; dashed and hollow where it is accepted."""
    if not drawn.steps:
        return []
    rows = {"data": _rows(drawn, drawn.steps)}
    shown = _tooltip(*("run", "date", "commit", "reason"), change="step")
    top = {"x": axes.x("at"), "y": {"value": _STEP_Y}}
    layers: list[Spec] = []
    for accepted in sorted({bool(step["accepted"]) for step in drawn.steps}):
        chosen = {**rows, "transform": [{"filter": f"datum.accepted === {str(accepted).lower()}"}]}
        dashes = {"strokeDash": [5, 4]} if accepted else {}
        layers += [
            {
                **chosen,
                "mark": {"type": "rule", "strokeWidth": 1.5, **dashes},
                "encoding": {"x": axes.x("at"), "tooltip": shown},
            },
            {
                **chosen,
                "mark": {
                    "type": "point",
                    "shape": "triangle-down",
                    "size": 110,
                    "opacity": 1,
                    "filled": not accepted,
                },
                "encoding": {**top, "tooltip": shown},
            },
        ]
    kinds = sorted({(bool(step["at_end"]), int(step["line"])) for step in drawn.steps})
    return [*layers, *(_step_names(rows, axes, *kind) for kind in kinds)]


def _step_names(rows: Spec, axes: _Axes, at_end: bool, line: int) -> Spec:
    """The sizes of steps on one line, left of the steps near the right end."""
    chosen = f"datum.at_end === {str(at_end).lower()} && datum.line === {line}"
    return {
        **rows,
        "transform": [{"filter": chosen}],
        "mark": {
            "type": "text",
            "fontSize": 11,
            "baseline": "middle",
            "align": "right" if at_end else "left",
            "dx": -9 if at_end else 9,
        },
        "encoding": {
            "x": axes.x("at"),
            "y": {"value": _STEP_Y + line * _LINE_HEIGHT},
            "text": {"field": "label"},
        },
    }


def _tooltip(*names: str, **titles: str) -> list[Spec]:
    """Fields of a row for a pointer: first those with a title of their own."""
    return [
        *({"field": name, "title": title} for name, title in titles.items()),
        *({"field": name} for name in names),
    ]
