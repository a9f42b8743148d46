"""Colours and shapes of backends, distinguishable without seeing all colours."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class BackendMark:
    """The looks of a backend in every chart."""

    light: str
    """Colour on a light ground."""
    dark: str
    """Colour on a dark ground."""
    shape: str
    """Vega's name of the shape of its points."""


BACKEND_MARKS: Mapping[str, BackendMark] = {
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
"""By backend; chosen by a search so that any two differ under every kind of colour-blindness."""

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
