"""A chart: a Vega-Lite description with its title and its finding, and the colours of backends."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import cycle
from typing import Any, get_args

from runner.contract.axes import Backend

VEGA_LITE = "6.4"
"""The version of Vega-Lite that descriptions are written for."""
_SCHEMA = f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE.partition('.')[0]}.json"
HEIGHT = 300
"""Height of a plot, pixels, where a chart has no other."""
_LEGEND = {
    "orient": "bottom",
    "columns": 3,
    "labelLimit": 150,
    "titleLimit": 150,
    "layout": {"bottom": {"direction": "vertical", "anchor": "start", "margin": 6}},
}
"""Below the plot and each other, so that a phone's width is left to them."""
Spec = Mapping[str, Any]


@dataclass(frozen=True)
class BackendMark:
    """A backend's colours on a light and on a dark ground, and Vega's name of its points' shape."""

    light: str
    dark: str
    shape: str


_CHOSEN: Mapping[str, BackendMark] = {
    "cpu": BackendMark("#6e6496", "#e6e6fa", "circle"),
    "cuda": BackendMark("#286e50", "#96fab4", "square"),
    "rocm": BackendMark("#780a0a", "#d22814", "diamond"),
    "mps": BackendMark("#f028fa", "#a05096", "triangle-up"),
    "openvino": BackendMark("#1400dc", "#6e6efa", "triangle-down"),
    "qnn": BackendMark("#641e6e", "#c8a0fa", "cross"),
    "webnn": BackendMark("#649696", "#00beaa", "triangle-right"),
    "webgpu": BackendMark("#be3200", "#e68c50", "triangle-left"),
    "wasm": BackendMark("#a08c5a", "#fad200", "stroke"),
    "fake": BackendMark("#3c3c3c", "#6e6e64", "circle"),
}
"""Chosen by a search so that any two differ under every kind of colour-blindness."""
_SPARE = (
    BackendMark("#00787d", "#5ac8d2", "wedge"),
    BackendMark("#7d3c00", "#d2aa78", "arrow"),
    BackendMark("#a0325a", "#fa8cb4", "triangle"),
)
BACKEND_MARKS: Mapping[str, BackendMark] = {
    **_CHOSEN,
    **dict(zip((name for name in get_args(Backend) if name not in _CHOSEN), cycle(_SPARE))),
}
"""By backend; one that is new has a spare mark until it gets a row above."""


def colour_variables(ground: str) -> str:
    """The colours on this ground, `light` or `dark`, as variables of a style sheet."""
    return "".join(f"--{name}:{getattr(mark, ground)};" for name, mark in BACKEND_MARKS.items())


LIGHT_GROUNDS, DARK_GROUNDS = ("#ffffff", "#f5f6f8"), ("#14181f", "#1d232c")
"""Grounds of pages and of panels on them."""


@dataclass(frozen=True)
class Ink:
    """The colours of one drawing."""

    backends: Mapping[str, str]
    text: str
    muted: str
    """Lines of the grid, and text that matters less."""
    ground: str


PAPER = Ink(
    {name: mark.light for name, mark in BACKEND_MARKS.items()}, "#1b1f24", "#57606a", "#ffffff"
)
"""Colours of files."""
_VARIABLES = {name: f"var(--{name})" for name in BACKEND_MARKS}
PAGE = Ink(_VARIABLES, "currentColor", "var(--muted)", "transparent")
"""Colours of pages, whose style sheet knows light, dark and print."""


@dataclass(frozen=True)
class Chart:
    """One drawing."""

    name: str
    """The stem of its files, e.g. `latency-by-batch`."""
    title: str
    sentence: str
    """The finding in words, for people who cannot see the drawing."""
    spec: Spec
    """The description without colours, which `drawn` adds."""
    backends: tuple[str, ...] = ()
    """The backends in it, in the order of the domain of its colours and shapes."""

    def drawn(self, ink: Ink) -> Spec:
        """The description in these colours, without title and width, ready for Vega-Lite."""
        text = {"labelColor": ink.text, "titleColor": ink.text}
        lines = dict.fromkeys(("gridColor", "domainColor", "tickColor"), ink.muted)
        symbols = dict.fromkeys(("symbolBaseFillColor", "symbolBaseStrokeColor"), ink.text)
        marks = ("text", "rule", "line", "point", "tick", "rect")
        ranges = {
            "category": [ink.backends[name] for name in self.backends],
            "symbol": [BACKEND_MARKS[name].shape for name in self.backends],
        }
        return {
            "$schema": _SCHEMA,
            "background": ink.ground,
            "height": HEIGHT,
            "config": {
                "axis": {**text, **lines, "gridOpacity": 0.25, "labelLimit": 220},
                "legend": {**text, **symbols, **_LEGEND},
                **{mark: {"color": ink.text} for mark in marks},
                "view": {"stroke": None},
                "range": ranges if self.backends else {},
            },
            **self.spec,
        }


def distinctly_named(charts: Iterable[Chart]) -> tuple[Chart, ...]:
    """The charts, those with a name that others have before them with a number."""
    seen: Counter[str] = Counter()
    named = []
    for chart in charts:
        seen[chart.name] += 1
        number = seen[chart.name]
        named.append(chart if number == 1 else replace(chart, name=f"{chart.name}-{number}"))
    return tuple(named)
