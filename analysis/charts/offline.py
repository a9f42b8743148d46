"""The curve of the scenario `offline`: each batch that was tried, and the one that was found."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.curves import with_remainder
from analysis.charts.findings import uppercase_first
from analysis.charts.layers import (
    Point,
    backends_of,
    line_layer,
    linear_axis,
    log_axis,
    point_layers,
    size_axis,
)
from analysis.charts.questions import MOST_CHARTS
from analysis.charts.words import file_stem, path_words, question_words
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount
from runner.contract.axes import SIZE_AXES

_SIZES = tuple(name for name in SIZE_AXES if name != "batch_size")
_DRAWN = tuple(METRICS[name] for name in ("throughput", "latency", "memory"))
_QUESTION = ("model", "precision", "mode", "scenario", *_SIZES, "host")


def offline_curves(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """Charts of throughput, latency and memory for each question; empty without any."""
    columns = ", ".join(f"r.{name}" for name in (*_QUESTION, "backend", "runtime", "cell_id"))
    values = ", ".join(f"o.{metric.column}::DOUBLE AS {metric.name}" for metric in _DRAWN)
    sql = f"""
        SELECT {columns}, r.result_id, r.grade, o.batch_size AS size, o.queries, o.found, {values}
        FROM {selection.relation} r JOIN offline_curve o USING (result_id)
        ORDER BY r.cell_id, r.result_id, size
    """
    questions: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in source.arrow(sql).to_pylist():
        questions[tuple(row[name] for name in _QUESTION)].append(row)
    several = [rows for rows in questions.values() if len({row["size"] for row in rows}) > 1]
    largest = sorted(several, key=lambda rows: -len(rows))
    left_out = max(len(largest) - limit, 0)
    charts: list[Chart] = []
    for metric in _DRAWN:
        measured = ([row for row in rows if row[metric.name]] for rows in largest[:limit])
        drawn = [_chart(rows, metric) for rows in measured if rows]
        charts += with_remainder(drawn, left_out)
    return tuple(charts)


def _chart(rows: Sequence[Mapping[str, Any]], metric: Metric) -> Chart:
    points = [_point(row, metric) for row in rows]
    question = question_words(rows[0])
    vertical = (
        linear_axis("value", metric.heading)
        if metric.name == "memory"
        else log_axis("value", metric.heading, points, "value")
    )
    ring = {
        "transform": [{"filter": "datum.found"}],
        "mark": {"type": "point", "size": 320, "strokeWidth": 1.5, "opacity": 1},
        "encoding": {"shape": {"value": "circle"}},
    }
    return Chart(
        file_stem("offline", metric.name, question),
        f"{uppercase_first(metric.label)} of every batch that was tried · {question}",
        _sentence(rows, metric),
        {
            "data": {"values": points},
            "encoding": {
                "x": size_axis("size", "samples in a batch", (row["size"] for row in rows)),
                "y": vertical,
            },
            "layer": [line_layer(points), *point_layers(points, _tooltip(metric)), ring],
        },
        backends_of(points),
    )


def _point(row: Mapping[str, Any], metric: Metric) -> Point:
    return {
        **{name: row[name] for name in ("backend", "runtime", "size", "queries", "found")},
        "value": row[metric.name],
        "path": path_words(row),
        "cell": row["cell_id"],
        "number": amount(row[metric.name], metric.unit),
        "grade": row["grade"] or "none",
        "origin": row["result_id"],
        "imported": False,
    }


def _sentence(rows: Sequence[Mapping[str, Any]], metric: Metric) -> str:
    chosen = [row for row in rows if row["found"]]
    if not chosen:
        return f"{len(rows)} batches were tried; the one that was found is not among them."
    best = max(chosen, key=lambda row: float(row[metric.name]))
    others = "" if len(chosen) == 1 else f" of {len(chosen)} searches, that"
    return (
        f"Rings mark the batch that a search found:{others} of {path_words(best)} is"
        f" {best['size']}, with a {metric.label} of {amount(best[metric.name], metric.unit)}."
    )


def _tooltip(metric: Metric) -> list[Mapping[str, str]]:
    names = ("size", "cell", "path", "queries", "grade")
    return [{"field": "number", "title": metric.label}, *({"field": name} for name in names)]
