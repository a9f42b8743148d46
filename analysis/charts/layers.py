"""Layers of charts: points with error bars, lines, scales, and texts for a pointer."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from analysis.charts.chart import Spec, backend_scale
from analysis.charts.palette import BACKEND_MARKS
from analysis.charts.words import in_order, path_words
from analysis.compare.values import MetricValue
from analysis.results.metrics import Metric
from analysis.results.source import OWN_SOURCES
from analysis.statistics.numbers import amount, rounded

Point = dict[str, Any]
"""A row of a description: a result with its numbers, and words about it."""
_DASHES: Mapping[str, Sequence[int]] = {
    "torch": (1, 0),
    "torch_compile": (8, 3),
    "onnxruntime": (3, 3),
    "openvino": (10, 3, 2, 3),
    "onnxruntime_web": (6, 2, 1, 2, 1, 2),
    "fake": (1, 3),
}
"""Lines of runtimes: dashes and gaps in pixels."""
_MARGIN = 1.15
"""Space of a logarithmic axis beyond its numbers, as a factor."""
_FEW_DECADES, _NARROW_DECADES = 2.5, 0.4
_OWN = "measured here"
_TOOLTIP = ("cell", "hardware", "interval", "grade", "proof", "launches", "measured", "origin")
_WORDS = {"interval": "95 % interval", "measured": "measured at"}
_HAS_BAR = {"filter": "isValid(datum.low) && isValid(datum.high)"}


def point_of(result: MetricValue, metric: Metric, **more: object) -> Point:
    """A result as a row of a description."""
    facts, interval = result.facts, result.interval
    moment = facts["measured_at"]
    low, high = (interval.low, interval.high) if interval else (None, None)
    return {
        "cell": result.cell_id,
        "backend": facts["backend"],
        "runtime": facts["runtime"],
        "hardware": facts.get("hardware"),
        "path": path_words(facts),
        "value": result.value,
        "low": low,
        "high": high,
        "number": amount(result.value, metric.unit),
        "interval": f"{amount(low, '')} to {amount(high, metric.unit)}"
        if low is not None and high is not None
        else "not known",
        "grade": facts["grade"] or "none",
        "proof": facts["proof"],
        "launches": facts["rounds"],
        "measured": moment.strftime("%Y-%m-%d %H:%M") if moment else None,
        "origin": ", ".join(result.marks) or _OWN,
        "imported": facts["source"] not in OWN_SOURCES,
        **more,
    }


def tooltip(number: str = "value", *more: str) -> list[Spec]:
    """Fields of a result for a pointer, under the name of its number."""
    first = {"field": "number", "title": number}
    names = (*_TOOLTIP[:1], *more, *_TOOLTIP[1:])
    return [first, *({"field": name, "title": _WORDS.get(name, name)} for name in names)]


def backends_of(points: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The backends of these rows, in the order of the palette."""
    return in_order((point["backend"] for point in points), BACKEND_MARKS)


def backend_colour(backends: Sequence[str]) -> Spec:
    """Colour, or shape, that stands for the backend."""
    return {"field": "backend", "type": "nominal", "scale": backend_scale(backends)}


def runtime_dash(points: Iterable[Point]) -> Spec:
    """Dashes that stand for the runtime; no legend where there is one runtime alone."""
    runtimes = in_order((str(point["runtime"]) for point in points), _DASHES)
    dashes = [list(_DASHES.get(name, (1, 0))) for name in runtimes]
    legend = None if len(runtimes) == 1 else {"symbolType": "stroke", "symbolSize": 400}
    scale = {"domain": runtimes, "range": dashes}
    return {"field": "runtime", "type": "nominal", "scale": scale, "legend": legend}


def point_layers(points: Sequence[Point], shown: Sequence[Spec]) -> list[Spec]:
    """Points of results: hollow where others measured them."""
    backends = backends_of(points)
    layers: list[Spec] = [
        {
            "transform": [{"filter": f"{'' if hollow else '!'}datum.imported"}],
            "mark": {"type": "point", "filled": not hollow, "size": 80, "opacity": 1},
            "encoding": {
                "color": backend_colour(backends),
                "shape": backend_colour(backends),
                "tooltip": shown,
            },
        }
        for hollow in (False, True)
    ]
    return layers if any(point["imported"] for point in points) else layers[:1]


def named_rows(order: Sequence[str], step: int) -> Spec:
    """Height and vertical axis of rows whose names stand above their marks.

    Args:
        order: the rows' names, the first on top.
        step: the height of a row, pixels.
    """
    y = {"field": "row", "type": "nominal", "sort": [*order], "axis": None}
    return {"height": step * len(order), "encoding": {"y": y}}


def row_names(dy: int = -12) -> Spec:
    """The layer of these names, at the left end of each row."""
    return {
        "mark": {"type": "text", "align": "left", "dy": dy, "fontSize": 11, "clip": True},
        "encoding": {"text": {"field": "row"}, "x": {"value": 2}},
    }


def error_bars(points: Sequence[Point], axis: str = "y") -> list[Spec]:
    """The 95 % intervals of results; none where no result has one."""
    if all(point["low"] is None for point in points):
        return []
    bars = {
        "transform": [_HAS_BAR],
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
    return {
        "mark": {"type": "line", "strokeWidth": 2},
        "encoding": {
            "color": backend_colour(backends_of(points)),
            "strokeDash": runtime_dash(points),
            "detail": [{"field": name} for name in ("path", "hardware", "origin")],
        },
    }


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
