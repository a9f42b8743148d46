"""Topics: which charts a report of each subject has, in the order in which it shows them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from analysis.charts.architectures import family_efficiencies
from analysis.charts.chart import Chart
from analysis.charts.comparisons import property_comparison
from analysis.charts.curves import size_curves
from analysis.charts.durations import duration_charts
from analysis.charts.energy import energy_rows
from analysis.charts.layers import backends_of
from analysis.charts.offline import offline_curves
from analysis.charts.roofline import rooflines
from analysis.charts.server import server_curves
from analysis.charts.stacks import Bar, stacked_spec
from analysis.charts.training import training_steps
from analysis.charts.words import noun_count, path_words
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount

START_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
"""The stages of a start, in their order."""
_MOST_STARTS = 12
"""Starts of one drawing; more are noun_count, the slowest stay."""


def startup_stages(source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """The chart of the slowest starts by stage; empty if none was measured."""
    stages = ", ".join(
        f"t.startup_{kind}_{stage}_median_s AS {kind}_{stage}"
        for kind in ("warm", "cold")
        for stage in START_STAGES
    )
    sql = f"""
        SELECT r.cell_id, r.model, r.backend, r.runtime, r.precision, r.workers, r.hostname,
            {stages},
            r.latency_median_ms / 1000 AS warm, t.startup_cold_median_s AS cold,
            count(*) OVER () AS starts
        FROM {selection.relation} r JOIN startup_results t USING (result_id)
        WHERE r.latency_median_ms > 0 ORDER BY warm DESC, r.cell_id LIMIT {_MOST_STARTS}
    """
    rows = source.arrow(sql).to_pylist()
    bars = [bar for row in rows for kind in ("warm", "cold") if (bar := _bar(row, kind))]
    if not bars:
        return ()
    left_out = rows[0]["starts"] - len(rows)
    chart = Chart(
        "startup-stages",
        "Starts by stage: files in memory (warm) and from the disk (cold)",
        _sentence(rows, bars) + (f" {left_out} quicker starts are not drawn." if left_out else ""),
        stacked_spec(bars, [_words(stage) for stage in START_STAGES], "median, s", "s"),
        backends_of({"backend": bar.backend} for bar in bars),
    )
    return (chart,)


def _bar(row: Mapping[str, Any], kind: str) -> Bar | None:
    parts = tuple(
        (_words(stage), row[f"{kind}_{stage}"]) for stage in START_STAGES if row[f"{kind}_{stage}"]
    )
    if not parts or row[kind] is None:
        return None
    workers = f", {noun_count(row['workers'], 'worker')}" if row["workers"] else ""
    words = f"{kind} · {row['model']}, {path_words(row)}, {row['precision']}{workers}"
    return Bar(words, row["backend"], row["cell_id"], parts, row["hostname"], row[kind])


def _words(stage: str) -> str:
    return stage.replace("_", " ")


def _sentence(rows: Sequence[Mapping[str, Any]], bars: Sequence[Bar]) -> str:
    slowest = max(bars, key=lambda bar: bar.whole)
    stage, seconds = max(slowest.parts, key=lambda part: part[1])
    quickest = min(rows, key=lambda row: float(row["warm"]))
    return (
        f"The slowest start takes {amount(slowest.whole, 's')} ({slowest.words}), of which"
        f" the stage `{stage}` takes {amount(seconds, 's')}; the quickest warm one drawn takes"
        f" {amount(quickest['warm'], 's')} ({path_words(quickest)}). Upright marks are medians of"
        " whole starts."
    )


ChartKind = Callable[[ArrowSource, Selection], tuple[Chart, ...]]
"""A kind of chart: all of it that the selected results have; empty where they have none."""

_METRICS = ("latency", "throughput", "tokens", "memory")
_CURVES: ChartKind = partial(size_curves, metric_names=_METRICS)
_SEQUENCES: ChartKind = partial(size_curves, metric_names=_METRICS, over="sequence_length")
_BY: tuple[ChartKind, ...] = tuple(
    partial(property_comparison, by=by) for by in ("backend", "runtime", "precision", "family")
)
_BACKENDS, _RUNTIMES, _PRECISIONS, _FAMILIES = _BY
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
