"""The throughput-latency curve of the scenario `server`: latency at each rate of arrivals."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import Point, backend_colour, backends_of, linear_axis, log_axis
from analysis.charts.questions import MOST_CHARTS
from analysis.charts.words import file_stem, in_order, path_words, question_words
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount
from runner.contract.axes import SIZE_AXES

_PERCENTILES: Mapping[str, Sequence[int]] = {"median": (1, 0), "p90": (6, 3), "p99": (2, 3)}
"""Percentiles that are drawn, with their dashes."""
_QUESTION = ("model", "precision", "mode", "scenario", *SIZE_AXES, "host")


def server_curves(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """A chart for each question that several rates were tried on; empty without any."""
    columns = ", ".join(f"r.{name}" for name in _QUESTION)
    sql = f"""
        SELECT {columns}, r.cell_id, r.backend, r.runtime, r.target_qps, r.achieved_qps,
            r.grade, r.slo_ms,
            r.latency_median_ms AS median, r.latency_p90_ms AS p90, r.latency_p99_ms AS p99,
            r.peak_qps, r.peak_qps_low, r.peak_qps_high
        FROM {selection.relation} r
        WHERE r.scenario = 'server' AND r.latency_median_ms > 0
            AND (r.achieved_qps > 0 OR r.peak_qps > 0)
        ORDER BY r.cell_id, r.result_id
    """
    questions: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in source.arrow(sql).to_pylist():
        questions[tuple(row[name] for name in _QUESTION)].append(row)
    answered = [
        rows
        for rows in questions.values()
        if sum(row["achieved_qps"] is not None for row in rows) > 1
    ]
    largest = sorted(answered, key=lambda rows: -len({row["target_qps"] for row in rows}))[:limit]
    return tuple(_chart(rows) for rows in largest)


def _chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    points = [point for row in rows if row["achieved_qps"] for point in _points(row)]
    slo = next((row["slo_ms"] for row in rows if row["peak_qps"]), None)
    words = question_words(rows[0])
    return Chart(
        file_stem("server", words),
        f"Latency by rate of arrivals · {words}",
        _sentence(rows, slo),
        _spec(points, rows, slo),
        backends_of(points),
    )


def _points(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "cell": row["cell_id"],
            "backend": row["backend"],
            "path": path_words(row),
            "rate": row["achieved_qps"],
            "offered": row["target_qps"] or row["achieved_qps"],
            "asked": f"{row['target_qps']:g}/s offered" if row["target_qps"] else None,
            "percentile": name,
            "value": row[name],
            "number": amount(row[name], "ms"),
            "grade": row["grade"] or "none",
        }
        for name in _PERCENTILES
        if row[name]
    ]


def _spec(points: Sequence[Point], rows: Sequence[Mapping[str, Any]], slo: float | None) -> Spec:
    colour = backend_colour(backends_of(points))
    known = in_order((point["percentile"] for point in points), _PERCENTILES)
    limits = [{"value": slo}] if slo else []
    dash = {
        "field": "percentile",
        "type": "nominal",
        "scale": {"domain": known, "range": [list(_PERCENTILES[name]) for name in known]},
        "legend": {"symbolType": "stroke", "symbolSize": 400},
    }
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {
                "color": colour,
                "strokeDash": dash,
                "detail": {"field": "path"},
                "order": {"field": "offered"},
            },
        },
        {
            "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
            "encoding": {"color": colour, "shape": colour, "tooltip": _TOOLTIP},
        },
    ]
    layers.append(_OFFERED)
    if slo:
        rule = {"type": "rule", "strokeDash": [4, 3]}
        layers.append({"mark": rule, "encoding": {"y": {"datum": slo}}})
    layers += [_peak_layer(row, colour) for row in rows if row["peak_qps"]]
    return {
        "data": {"values": points},
        "encoding": {
            "x": linear_axis("rate", "queries answered per second"),
            "y": log_axis("value", "latency from arrival, ms", [*points, *limits]),
        },
        "layer": layers,
    }


def _peak_layer(row: Mapping[str, Any], colour: Spec) -> Spec:
    """The peak rate as a vertical line."""
    peak = {"backend": row["backend"], "peak": row["peak_qps"], "number": _peak_words(row)}
    shown = [{"field": "number", "title": "peak rate"}, {"field": "backend"}]
    return {
        "data": {"values": [peak]},
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5},
        "encoding": {
            "x": {"field": "peak", "type": "quantitative"},
            "y": {"value": 0},
            "y2": {"value": "height"},
            "color": colour,
            "tooltip": shown,
        },
    }


def _offered(row: Mapping[str, Any]) -> float:
    """The rate of arrivals; where nobody set one, that of the answers."""
    return float(row["target_qps"] or row["achieved_qps"])


def _peak_words(row: Mapping[str, Any]) -> str:
    high = row["peak_qps_high"]
    bracket = f" (up to {amount(high)} was not ruled out)" if high else ""
    return f"{amount(row['peak_qps'], 'queries/s')}{bracket}"


def _sentence(rows: Sequence[Mapping[str, Any]], slo: float | None) -> str:
    tried = [row for row in rows if row["achieved_qps"]]
    first, last = (f(tried, key=lambda row: float(_offered(row))) for f in (min, max))
    span = (
        f"From {amount(_offered(first))} to {amount(_offered(last), 'offered queries/s')}"
        f" the median latency goes from {amount(first['median'], 'ms')} to"
        f" {amount(last['median'], 'ms')}."
        if first is not last
        else f"At {amount(_offered(last), 'offered queries/s')} the median latency is"
        f" {amount(last['median'], 'ms')}."
    )
    peaks = [row for row in rows if row["peak_qps"]]
    best = max(peaks, key=lambda row: float(row["peak_qps"]), default=None)
    limit = f" within {slo:g} ms" if slo else ""
    if best is None:
        most = max(row["achieved_qps"] for row in tried)
        return f"{span} The most that was answered is {amount(most, 'queries/s')}."
    return f"{span} The peak rate{limit} is {_peak_words(best)}, of {path_words(best)}."


_OFFERED = {
    "transform": [{"filter": "datum.percentile === 'median' && isValid(datum.asked)"}],
    "mark": {"type": "text", "dy": -12, "fontSize": 11},
    "encoding": {"text": {"field": "asked"}},
}
"""The offered rate beside each point."""
_TOOLTIP = [
    {"field": "number", "title": "latency"},
    *({"field": name} for name in ("percentile", "path", "cell", "grade")),
    {"field": "rate", "title": "answered per second", "format": ",.4~g"},
    {"field": "offered", "title": "offered per second", "format": ",.4~g"},
]
