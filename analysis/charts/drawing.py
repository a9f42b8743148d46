"""Drawings of charts as PNG and SVG, by the library of the extra `analysis`."""

import importlib
from textwrap import wrap
from typing import Any

from analysis.charts.chart import VEGA_LITE, Chart, Spec
from analysis.charts.palette import PAPER
from runner.contract.errors import UsageError, how_to_install

_WIDTH = 640
"""Width of a plot in files, pixels at single scale."""
_SCALE = 2.0
"""Pixels of a PNG by those of the description."""
_COLUMNS, _SMALL_COLUMNS = 84, 104
"""Letters that fit one line of the title, and of the sentence below it."""


def png_of(chart: Chart) -> bytes:
    """The chart as PNG, the same bytes every time.

    Raises:
        UsageError: the extra `analysis` is not installed.
    """
    png: bytes = drawing_library().vegalite_to_png(_on_paper(chart), scale=_SCALE, **_OPTIONS)
    return png


def svg_of(chart: Chart) -> bytes:
    """The chart as SVG, the same bytes every time.

    Raises:
        UsageError: the extra `analysis` is not installed.
    """
    svg: str = drawing_library().vegalite_to_svg(_on_paper(chart), **_OPTIONS)
    return svg.encode()


def _on_paper(chart: Chart) -> Spec:
    title = {
        "text": wrap(chart.title, _COLUMNS),
        "subtitle": wrap(chart.sentence, _SMALL_COLUMNS),
        "anchor": "start",
        "frame": "bounds",
        "offset": 14,
        "subtitlePadding": 6,
        "color": PAPER.text,
        "subtitleColor": PAPER.muted,
    }
    return {"width": _WIDTH, **chart.drawn(PAPER), "title": title, "padding": 14}


def drawing_library() -> Any:
    """The library that draws.

    Raises:
        UsageError: the extra `analysis` is not installed.
    """
    try:
        return importlib.import_module("vl_convert")
    except ImportError as error:
        raise UsageError(
            "charts as PNG and SVG need the extra `analysis`, which is not installed",
            hint=f"{how_to_install('analysis')} installs it; charts as .html need nothing",
        ) from error


_OPTIONS = {"vl_version": VEGA_LITE, "allowed_base_urls": []}
"""No description can read a file or an address."""
