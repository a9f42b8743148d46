"""Charts in pages: the drawing library, the style with every backend's colour, one chart alone."""

import html
import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from analysis.charts.chart import Chart
from analysis.charts.palette import BACKEND_MARKS, DARK_GROUNDS, LIGHT_GROUNDS, PAGE

VEGA_FILE = Path(__file__).with_name("vega") / "vega.js"
"""Vega as one script, written by `tools.vega`; the licences of its parts lie beside it.

It gives pages one function, `drawChart(element, description)`."""
_LIGHT, _DARK = (
    "".join(f"--{name}:{getattr(mark, field)};" for name, mark in BACKEND_MARKS.items())
    for field in ("light", "dark")
)
_BY_DAY = (
    f"{_LIGHT}--text:#1b1f24;--muted:#57606a;--ground:{LIGHT_GROUNDS[0]};--panel:{LIGHT_GROUNDS[1]}"
)
_BY_NIGHT = (
    f"{_DARK}--text:#e6e9ef;--muted:#a0a8b4;--ground:{DARK_GROUNDS[0]};--panel:{DARK_GROUNDS[1]}"
)
CHART_STYLE = f"""
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
"""The style of pages with charts: light, dark and print from one drawing."""
CHART_SCRIPT = """
for (const data of document.querySelectorAll("script.description")) {
  drawChart(data.previousElementSibling, JSON.parse(data.textContent));
}
"""
"""The script that draws every chart of a page, to stand at its end."""


def vega_script() -> str:
    """The drawing library, to stand in a script element before `CHART_SCRIPT`."""
    return VEGA_FILE.read_text("utf-8")


def figure(chart: Chart, heading: str = "h3") -> str:
    """A chart as an element: its title as a heading of this level, the drawing, its finding."""
    title, sentence = html.escape(chart.title), html.escape(chart.sentence)
    description = json.dumps({"width": "container", **chart.drawn(PAGE)}).replace("<", "\\u003c")
    return (
        f'<figure class="chart" id="{html.escape(chart.name)}"><{heading}>{title}</{heading}>'
        f'<div class="drawing" role="img" aria-label="{title}. {sentence}"></div>'
        f'<script type="application/json" class="description">{description}</script>'
        f"<figcaption>{sentence}</figcaption></figure>"
    )


def content_policy(scripts: Sequence[str], styles: Sequence[str]) -> str:
    """The content security policy of a page that holds these scripts and styles alone."""
    script, style = (" ".join(map(_digest, texts)) for texts in (scripts, styles))
    return f"default-src 'none'; script-src {script}; style-src {style}; img-src data:"


def chart_page(chart: Chart) -> bytes:
    """A page of one chart that holds all it needs."""
    library = vega_script()
    policy = content_policy((library, CHART_SCRIPT), (CHART_STYLE,))
    title = html.escape(chart.title)
    return (
        '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{CHART_STYLE}</style>"
        f"<main>{figure(chart, 'h1')}<noscript>The drawing needs JavaScript.</noscript></main>"
        f"<script>{library}</script><script>{CHART_SCRIPT}</script></html>\n"
    ).encode()


def _digest(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
