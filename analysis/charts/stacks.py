"""Stacked bars: the parts of a time, one bar a row, with the whole beside them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.charts.chart import Spec
from analysis.charts.layers import (
    Point,
    backend_colour,
    backends_of,
    linear_axis,
    named_rows,
    row_names,
)
from analysis.charts.words import distinct_rows
from analysis.statistics.numbers import amount

_STEP = 38
"""Height of a row with its words above the bar, pixels."""
_OPACITIES = (1.0, 0.7, 0.45, 0.22, 0.06)
"""Fillings of the parts, in their order; all have an edge in the backend's full colour."""


@dataclass(frozen=True)
class Bar:
    """One row: a time and its parts."""

    words: str
    """Its name."""
    backend: str
    cell: str
    parts: tuple[tuple[str, float], ...]
    """Each part's name and median, in their order."""
    host: str | None
    """The name of the machine, which tells bars of the same words apart."""
    whole: float
    """The median of the whole, to which medians of parts need not add up."""


def stacked_spec(bars: Sequence[Bar], names: Sequence[str], title: str, unit: str) -> Spec:
    """The description of these bars, whose parts are among the names."""
    rows_named = distinct_rows((bar.words, bar.host) for bar in bars)
    bars = [replace(bar, words=words) for bar, words in zip(bars, rows_named, strict=True)]
    rows = [_row(bar, name, value, names, unit) for bar in bars for name, value in bar.parts]
    wholes = [{"row": bar.words, "whole": bar.whole} for bar in bars]
    order = [bar.words for bar in bars]
    return {
        **named_rows(order, _STEP),
        "layer": [
            _bar_layer(rows, "fill", {"opacity": _filling(names)}, title),
            _bar_layer(rows, "stroke", {}, title),
            {
                "data": {"values": wholes},
                "mark": {"type": "tick", "opacity": 1, "thickness": 2, "height": 18, "yOffset": 7},
                "encoding": {"x": {"field": "whole", "type": "quantitative"}},
            },
            {"data": {"values": wholes}, **row_names(dy=-8)},
        ],
    }


def _bar_layer(rows: Sequence[Point], channel: str, more: Spec, title: str) -> Spec:
    """The bars filled, or their edges alone."""
    hollow = {"fill": "transparent", "strokeWidth": 1} if channel == "stroke" else {}
    return {
        "data": {"values": rows},
        "mark": {"type": "bar", "height": 12, "yOffset": 7, "opacity": 1, **hollow},
        "encoding": {
            "x": {**linear_axis("value", title), "stack": "zero"},
            channel: backend_colour(backends_of(rows)),
            "order": {"field": "order"},
            "tooltip": [
                {"field": "number", "title": "median"},
                {"field": "part"},
                {"field": "whole", "title": "whole, median"},
                {"field": "cell"},
            ],
            **more,
        },
    }


def _row(bar: Bar, name: str, value: float, names: Sequence[str], unit: str) -> Point:
    return {
        "row": bar.words,
        "backend": bar.backend,
        "part": name,
        "order": names.index(name),
        "value": value,
        "number": amount(value, unit),
        "whole": amount(bar.whole, unit),
        "cell": bar.cell,
    }


def _filling(names: Sequence[str]) -> Spec:
    scale = {"type": "ordinal", "domain": [*names], "range": [*_OPACITIES[: len(names)]]}
    legend = {"symbolType": "square", "symbolStrokeWidth": 1}
    return {"field": "part", "type": "nominal", "scale": scale, "legend": legend, "sort": [*names]}
