"""Colours and shapes of backends, distinguishable without seeing all colours."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import get_args

from runner.contract.axes import Backend


@dataclass(frozen=True)
class BackendMark:
    """The looks of a backend in every chart."""

    light: str
    """Colour on a light ground."""
    dark: str
    """Colour on a dark ground."""
    shape: str
    """Vega's name of the shape of its points."""


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

LIGHT_GROUNDS, DARK_GROUNDS = ("#ffffff", "#f5f6f8"), ("#14181f", "#1d232c")
"""Grounds of pages and of panels on them."""


@dataclass(frozen=True)
class Ink:
    """The colours of one drawing: of backends, text and lines."""

    backends: Mapping[str, str]
    text: str
    muted: str
    """Lines of the grid, and text that matters less."""
    ground: str


PAPER = Ink(
    {name: mark.light for name, mark in BACKEND_MARKS.items()}, "#1b1f24", "#57606a", "#ffffff"
)
"""Colours of files."""
PAGE = Ink(
    {name: f"var(--{name})" for name in BACKEND_MARKS},
    "currentColor",
    "var(--muted)",
    "transparent",
)
"""Colours of pages, whose style sheet knows light, dark and print."""
