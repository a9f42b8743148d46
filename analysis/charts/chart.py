"""A chart: a Vega-Lite description with its title and the sentence that tells what it shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.charts.palette import BACKEND_MARKS, Ink

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
        return {
            "$schema": _SCHEMA,
            "background": ink.ground,
            "height": HEIGHT,
            "config": {
                "axis": {**text, **lines, "gridOpacity": 0.25, "labelLimit": 220},
                "legend": {**text, **symbols, **_LEGEND},
                "text": {"color": ink.text},
                "rule": {"color": ink.text},
                "line": {"color": ink.text},
                "point": {"color": ink.text},
                "tick": {"color": ink.text},
                "view": {"stroke": None},
                "range": self._ranges(ink),
            },
            **self.spec,
        }

    def _ranges(self, ink: Ink) -> Spec:
        """Colours and shapes of the backends, alike in every chart."""
        if not self.backends:
            return {}
        return {
            "category": [ink.backends[name] for name in self.backends],
            "symbol": [BACKEND_MARKS[name].shape for name in self.backends],
        }


def backend_scale(backends: Sequence[str]) -> Spec:
    """The scale of a colour or a shape that stands for a backend."""
    return {"domain": [*backends]}
