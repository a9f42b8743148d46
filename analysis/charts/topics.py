"""Topics: which charts a report of each subject has, in the order in which it shows them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

from analysis.charts.chart import Chart
from analysis.charts.comparisons import property_comparison
from analysis.charts.curves import size_curves
from analysis.charts.durations import duration_charts
from analysis.charts.efficiency import energy_rows, family_efficiencies, rooflines
from analysis.charts.scenarios import offline_curves, server_curves
from analysis.charts.stacks import startup_stages, training_steps
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource

ChartKind = Callable[[ArrowSource, Selection], tuple[Chart, ...]]
"""A kind of chart: all of it that the selected results have; empty where they have none."""

_METRICS = ("latency", "throughput", "tokens", "memory")
_CURVES: ChartKind = partial(size_curves, metric_names=_METRICS)
_SEQUENCES: ChartKind = partial(size_curves, metric_names=_METRICS, over="sequence_length")
_BACKENDS, _RUNTIMES, _PRECISIONS, _FAMILIES = (
    partial(property_comparison, by=by) for by in ("backend", "runtime", "precision", "family")
)
_STARTS: ChartKind = partial(size_curves, metric_names=("models_per_second",), over="workers")

CHART_TOPICS: Mapping[str, tuple[ChartKind, ...]] = {
    "performance": (
        *(_BACKENDS, _RUNTIMES, _PRECISIONS, _FAMILIES, family_efficiencies),
        *(_CURVES, training_steps, server_curves, energy_rows),
    ),
    "hardware": (rooflines, family_efficiencies, _BACKENDS, energy_rows),
    "compatibility": (),
    "startup": (startup_stages, _STARTS),
    "scaling": (_CURVES, offline_curves, _SEQUENCES, _STARTS),
    "run": (
        *(_BACKENDS, _RUNTIMES, _PRECISIONS, _CURVES, offline_curves, _SEQUENCES),
        *(training_steps, startup_stages, _STARTS, server_curves, rooflines, family_efficiencies),
        *(energy_rows, duration_charts),
    ),
}
"""By the name of a report; compatibility has tables alone, since verdicts are no numbers."""


def charts_of(topic: str, source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """All charts of a topic that the selected results have, each under a name of its own."""
    return distinctly_named(
        chart for draw in CHART_TOPICS[topic] for chart in draw(source, selection)
    )


def distinctly_named(charts: Iterable[Chart]) -> tuple[Chart, ...]:
    """The charts, those with a name that others have before them with a number."""
    seen: Counter[str] = Counter()
    named = []
    for chart in charts:
        seen[chart.name] += 1
        number = seen[chart.name]
        named.append(chart if number == 1 else replace(chart, name=f"{chart.name}-{number}"))
    return tuple(named)
