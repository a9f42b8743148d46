"""Layers of charts: points with error bars, lines, scales, and texts for a pointer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.charts.chart import BACKEND_MARKS, Spec
from analysis.charts.words import in_order, path_words
from analysis.compare.values import MetricValue
from analysis.results.metrics import Metric
from analysis.results.source import OWN_SOURCES
from analysis.statistics.numbers import amount, rounded

Point = dict[str, Any]
"""A row of a description: a result with its numbers, and words about it."""
POINT_MARK: Spec = {"type": "point", "filled": True, "size": 70, "opacity": 1}
UPRIGHT: Spec = {"y": {"value": 0}, "y2": {"value": "height"}}
"""The ends of a line through the whole plot."""
_RUNTIME_DASHES: Mapping[str, Sequence[int]] = {
    "torch": (1, 0),
    "torch_compile": (8, 3),
    "onnxruntime": (3, 3),
    "openvino": (10, 3, 2, 3),
    "onnxruntime_web": (6, 2, 1, 2, 1, 2),
    "fake": (1, 3),
}
STROKE_LEGEND: Spec = {"symbolType": "stroke", "symbolSize": 400}
_FROM_ZERO = ("memory", "models_per_second")
"""Metrics whose scale begins at zero: their values differ little."""
_MARGIN = 1.15
"""Space of a logarithmic axis beyond its numbers, as a factor."""
_FEW_DECADES, _NARROW_DECADES = 2.5, 0.4
_TOOLTIP = ("cell", "hardware", "interval", "grade", "proof", "launches", "measured", "origin")
_HOLLOW = "datum.imported || datum.undecided"
_WORDS = {"interval": "95 % interval", "measured": "measured at"}


def point_of(result: MetricValue, metric: Metric, **more: object) -> Point:
    """A result as a row of a description."""
    facts, interval = result.facts, result.interval
    moment = facts["measured_at"]
    return {
        "cell": result.cell_id,
        "backend": facts["backend"],
        "runtime": facts["runtime"],
        "hardware": facts.get("hardware"),
        "path": path_words(facts),
        "value": result.value,
        "low": interval and interval.low,
        "high": interval and interval.high,
        "number": amount(result.value, metric.unit),
        "interval": span_words(interval.low, interval.high, metric.unit)
        if interval
        else "not known",
        "grade": facts["grade"] or "none",
        "proof": facts["proof"],
        "launches": facts["rounds"],
        "measured": moment.strftime("%Y-%m-%d %H:%M") if moment else None,
        "origin": ", ".join(result.marks) or "measured here",
        "imported": facts["source"] not in OWN_SOURCES,
        **more,
    }


def span_words(low: float, high: float, unit: str = "") -> str:
    """The ends of a span, e.g. `4.2 to 4.5 ms`."""
    return f"{amount(low)} to {amount(high, unit)}"


def fields(form: str | None = None, /, **titles: str | None) -> list[Spec]:
    """Fields of a row for a pointer, by title or else by name, with a format of their numbers."""
    more = {"format": form} if form else {}
    return [
        {"field": name, **({"title": title} if title else {}), **more}
        for name, title in titles.items()
    ]


def tooltip(number: str, *more: str) -> list[Spec]:
    """Fields of a result for a pointer, under the name of its number."""
    names = (*_TOOLTIP[:1], *more, *_TOOLTIP[1:])
    return fields(number=number, **{name: _WORDS.get(name, name) for name in names})


def backends_of(points: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return in_order((point["backend"] for point in points), BACKEND_MARKS)


def backend_colour(backends: Sequence[str], *, legend: bool = True) -> Spec:
    colour: Spec = {"field": "backend", "type": "nominal", "scale": {"domain": [*backends]}}
    return colour if legend else {**colour, "legend": None}


def dashes(field: str, patterns: Mapping[str, Sequence[int]]) -> Spec:
    """Dashes and gaps in pixels that stand for a value; no legend where there is one alone."""
    scale = {"domain": [*patterns], "range": [list(dash) for dash in patterns.values()]}
    legend = None if len(patterns) == 1 else STROKE_LEGEND
    return {"field": field, "type": "nominal", "scale": scale, "legend": legend}


def point_layers(points: Sequence[Point], shown: Sequence[Spec]) -> list[Spec]:
    """Points of results: hollow where others measured them, or they leave something undecided."""
    colour = backend_colour(backends_of(points))
    layers: list[Spec] = [
        {
            "transform": [{"filter": _HOLLOW if hollow else f"!({_HOLLOW})"}],
            "mark": {**POINT_MARK, "filled": not hollow, "size": 80},
            "encoding": {"color": colour, "shape": colour, "tooltip": shown},
        }
        for hollow in (False, True)
    ]
    is_mixed = any(point["imported"] or point.get("undecided") for point in points)
    return layers if is_mixed else layers[:1]


def named_rows(order: Iterable[str], step: int = 34) -> dict[str, Any]:
    """Height and axis of rows of `step` pixels, whose names stand above their marks."""
    names = list(dict.fromkeys(order))
    y = {"field": "row", "type": "nominal", "sort": names, "axis": None}
    return {"height": step * len(names), "encoding": {"y": y}}


def row_chart(points: Sequence[Point], x: Spec, layers: Sequence[Spec]) -> dict[str, Any]:
    """The description of points that stand on rows with their names."""
    rows = named_rows(point["row"] for point in points)
    rows["encoding"]["x"] = x
    return {"data": {"values": points}, **rows, "layer": layers}


def row_names(dy: int = -12) -> Spec:
    """The layer of the names of rows, at the left end of each."""
    return {
        "mark": {"type": "text", "align": "left", "dy": dy, "fontSize": 11, "clip": True},
        "encoding": {"text": {"field": "row"}, "x": {"value": 2}},
    }


def error_bars(points: Sequence[Point], axis: str = "y") -> list[Spec]:
    """The 95 % intervals of results; none where no result has one."""
    if all(point["low"] is None for point in points):
        return []
    bars = {
        "transform": [{"filter": "isValid(datum.low) && isValid(datum.high)"}],
        "mark": {"type": "rule", "strokeWidth": 1.5},
        "encoding": {
            axis: {"field": "low", "type": "quantitative"},
            f"{axis}2": {"field": "high"},
            "color": backend_colour(backends_of(points)),
        },
    }
    return [bars]


def line_layer(points: Sequence[Point]) -> Spec:
    """Lines through the results of one series, dashed by runtime."""
    runtimes = in_order((str(point["runtime"]) for point in points), _RUNTIME_DASHES)
    patterns = {name: _RUNTIME_DASHES.get(name, (1, 0)) for name in runtimes}
    return {
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "color": backend_colour(backends_of(points)),
            "strokeDash": dashes("runtime", patterns),
            "detail": fields(path=None, hardware=None, origin=None),
        },
    }


def metric_axis(metric: Metric, points: Sequence[Point]) -> Spec:
    if metric.name in _FROM_ZERO:
        return linear_axis("value", metric.heading)
    return log_axis("value", metric.heading, points)


def log_axis(field: str, title: str, points: Sequence[Mapping[str, Any]], *fields: str) -> Spec:
    """A logarithmic axis that holds these numbers of the rows, by default their intervals too."""
    names = fields or ("value", "low", "high")
    numbers = [point[name] for point in points for name in names if point.get(name)]
    domain = [min(numbers) / _MARGIN, max(numbers) * _MARGIN]
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "domain": domain, "nice": False},
        "axis": {"format": ",~g", "values": _ticks(*domain), "labelOverlap": "greedy"},
    }


def _ticks(low: float, high: float) -> list[float]:
    """Marks of a logarithmic axis: all digits of one decade, 1, 2 and 5 of several, 1 of many."""
    decades = math.log10(high / low)
    if decades < _NARROW_DECADES:
        return round_numbers(low, high)
    steps = (1,) if decades > _FEW_DECADES else (1, 2, 5) if decades > 1 else range(1, 10)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [step * 10.0**power for power in powers for step in steps]
    inside = [tick for tick in ticks if low <= tick <= high]
    return (
        inside if len(inside) > 1 else [rounded(low * (high / low) ** (n / 4), 3) for n in range(5)]
    )


def round_numbers(low: float, high: float, most: int = 8) -> list[float]:
    """Multiples of 1, 2 or 5 and a power of ten between two numbers, `most` at most."""
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    step = next(step for step in (1, 2, 5, 10) if (high - low) / (step * power) <= most) * power
    first, last = math.ceil(low / step), math.floor(high / step)
    return [rounded(number * step, 12) for number in range(first, last + 1)]


def size_axis(field: str, title: str, values: Iterable[int]) -> Spec:
    """A logarithmic axis of sizes, with a mark at each one that was measured."""
    return {
        "field": field,
        "type": "quantitative",
        "title": title,
        "scale": {"type": "log", "base": 2, "nice": False, "padding": 12},
        "axis": {
            "values": sorted(set(values)),
            "format": ",d",
            "labelOverlap": "greedy",
            "grid": False,
        },
    }


def linear_axis(field: str, title: str) -> Spec:
    """An axis that begins at zero."""
    scale = {"zero": True, "nice": True}
    axis = {"tickCount": 6, "labelOverlap": "greedy"}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}
