"""Drawings of charts: PNG and SVG by the library of the extra `analysis`, pages by Vega."""

import html
import importlib
import json
from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from textwrap import wrap
from typing import Any

from analysis.charts.chart import (
    DARK_GROUNDS,
    LIGHT_GROUNDS,
    PAGE,
    PAPER,
    VEGA_LITE,
    Chart,
    Spec,
    colour_variables,
)
from runner.contract.errors import UsageError, how_to_install

_WIDTH = 640
"""Width of a plot in files, pixels at single scale."""
_SCALE = 2.0
"""Pixels of a PNG by those of the description."""
_COLUMNS, _SMALL_COLUMNS = 84, 104
"""Letters that fit one line of the title, and of the sentence below it."""
_OPTIONS = {"vl_version": VEGA_LITE, "allowed_base_urls": []}
"""No description can read a file or an address."""

VEGA_FILE = Path(__file__).with_name("vega") / "vega.js"
"""Vega as one script, written by `tools.vega`; the licences of its parts lie beside it.

It gives pages one function, `drawChart(element, description)`."""
_BY_DAY, _BY_NIGHT = (
    f"{colour_variables(name)}--text:{text};--muted:{muted};--ground:{ground};--panel:{panel}"
    for name, text, muted, (ground, panel) in (
        ("light", "#1b1f24", "#57606a", LIGHT_GROUNDS),
        ("dark", "#e6e9ef", "#a0a8b4", DARK_GROUNDS),
    )
)
_STYLE = f"""
:root {{ color-scheme: light dark; {_BY_DAY} }}
@media screen and (prefers-color-scheme: dark) {{ :root {{ {_BY_NIGHT} }} }}
body {{ margin: 0 auto; max-width: 60rem; padding: 0 1rem;
  color: var(--text); background: var(--ground); font: 1rem/1.5 system-ui, sans-serif }}
figure.chart {{ margin: 1.5rem 0; break-inside: avoid }}
figure.chart :is(h1, h2, h3) {{ font-size: 1.1rem; margin: 0 0 .5rem }}
figure.chart figcaption {{ color: var(--muted); max-width: 70ch }}
.drawing {{ width: 100%; overflow-x: auto }}
.drawing.vega-embed {{ display: block }}
#vg-tooltip-element {{ position: fixed; visibility: hidden; z-index: 9; padding: .4rem .6rem;
  font-size: .85rem; color: var(--text); background: var(--panel);
  border: 1px solid var(--muted); border-radius: 4px; pointer-events: none }}
#vg-tooltip-element.visible {{ visibility: visible }}
#vg-tooltip-element td.key {{ color: var(--muted); padding-right: .8rem; text-align: right }}
"""
"""Light, dark and print from one drawing."""
_SCRIPT = """
for (const data of document.querySelectorAll("script.description")) {
  drawChart(data.previousElementSibling, JSON.parse(data.textContent));
}
"""


def png_of(chart: Chart) -> bytes:
    """The chart as PNG, the same bytes every time."""
    png: bytes = drawing_library().vegalite_to_png(_on_paper(chart), scale=_SCALE, **_OPTIONS)
    return png


def svg_of(chart: Chart) -> bytes:
    """The chart as SVG, the same bytes every time."""
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
    """The library that draws; a UsageError says that the extra `analysis` is not installed."""
    try:
        return importlib.import_module("vl_convert")
    except ImportError as error:
        raise UsageError(
            "charts as PNG and SVG need the extra `analysis`, which is not installed",
            hint=f"{how_to_install('analysis')} installs it; charts as .html need nothing",
        ) from error


def vega_script() -> str:
    """The drawing library of pages, to stand in a script element."""
    return VEGA_FILE.read_text("utf-8")


def source_hash(text: str) -> str:
    """A script or a style as a content security policy allows it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def chart_page(chart: Chart) -> bytes:
    library = vega_script()
    title, sentence = html.escape(chart.title), html.escape(chart.sentence)
    description = json.dumps({"width": "container", **chart.drawn(PAGE)}).replace("<", "\\u003c")
    policy = (
        f"default-src 'none'; script-src {source_hash(library)} {source_hash(_SCRIPT)};"
        f" style-src {source_hash(_STYLE)}; img-src data:"
    )
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{_STYLE}</style>"
        f'<main><figure class="chart" id="{html.escape(chart.name)}"><h1>{title}</h1>'
        f'<div class="drawing" role="img" aria-label="{title}. {sentence}"></div>'
        f'<script type="application/json" class="description">{description}</script>'
        f"<figcaption>{sentence}</figcaption></figure>"
        "<noscript>The drawing needs JavaScript.</noscript></main>"
        f"<script>{library}</script><script>{_SCRIPT}</script></html>\n"
    ).encode()
