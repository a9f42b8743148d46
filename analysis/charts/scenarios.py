"""Scenarios drawn: latency at each rate of arrivals (`server`), each batch tried (`offline`)."""

from collections.abc import Mapping, Sequence

from analysis.charts.chart import Chart, Spec
from analysis.charts.curves import with_remainder
from analysis.charts.layers import (
    POINT_MARK,
    STROKE_LEGEND,
    UPRIGHT,
    Point,
    backend_colour,
    backends_of,
    dashes,
    fields,
    line_layer,
    linear_axis,
    log_axis,
    metric_axis,
    point_layers,
    size_axis,
)
from analysis.charts.questions import ASKED, MOST_CHARTS, grouped
from analysis.charts.words import file_stem, path_words, question_words, uppercase_first
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.results.table import RowFacts
from analysis.statistics.numbers import amount

_PERCENTILES: Mapping[str, Sequence[int]] = {"median": (1, 0), "p90": (6, 3), "p99": (2, 3)}
"""Percentiles that are drawn, with their dashes."""
_OFFERED = {
    "transform": [{"filter": "datum.percentile === 'median' && isValid(datum.asked)"}],
    "mark": {"type": "text", "dy": -12, "fontSize": 11},
    "encoding": {"text": {"field": "asked"}},
}
"""The offered rate beside each point."""
_TOOLTIP = [
    *fields(number="latency", percentile=None, path=None, cell=None, grade=None),
    *fields(",.4~g", rate="answered per second", offered="offered per second"),
]
_TRIED = tuple(METRICS[name] for name in ("throughput", "latency", "memory"))
_QUESTION = tuple(name for name in ASKED if name != "batch_size")


def server_curves(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """A chart for each question that several rates were tried on; empty without any."""
    columns = ", ".join(f"r.{name}" for name in ASKED)
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
    questions = grouped(source.arrow(sql).to_pylist(), ASKED)
    answered = [
        rows for rows in questions if sum(row["achieved_qps"] is not None for row in rows) > 1
    ]
    answered.sort(key=lambda rows: -len({row["target_qps"] for row in rows}))
    return tuple(_server_chart(rows) for rows in answered[:limit])


def _server_chart(rows: Sequence[RowFacts]) -> Chart:
    points = [point for row in rows if row["achieved_qps"] for point in _server_points(row)]
    slo = next((row["slo_ms"] for row in rows if row["peak_qps"]), None)
    words = question_words(rows[0])
    return Chart(
        file_stem("server", words),
        f"Latency by rate of arrivals · {words}",
        _server_sentence(rows, slo),
        _server_spec(points, rows, slo),
        backends_of(points),
    )


def _server_points(row: RowFacts) -> list[Point]:
    return [
        {
            "cell": row["cell_id"],
            "backend": row["backend"],
            "path": path_words(row),
            "rate": row["achieved_qps"],
            "offered": _offered(row),
            "asked": f"{row['target_qps']:g}/s offered" if row["target_qps"] else None,
            "percentile": name,
            "value": row[name],
            "number": amount(row[name], "ms"),
            "grade": row["grade"] or "none",
        }
        for name in _PERCENTILES
        if row[name]
    ]


def _offered(row: RowFacts) -> float:
    """The rate of arrivals; where nobody set one, that of the answers."""
    return float(row["target_qps"] or row["achieved_qps"])


def _server_spec(points: Sequence[Point], rows: Sequence[RowFacts], slo: float | None) -> Spec:
    colour = backend_colour(backends_of(points))
    drawn = {point["percentile"] for point in points}
    percentiles = {name: dash for name, dash in _PERCENTILES.items() if name in drawn}
    limits = [{"value": slo}] if slo else []
    layers: list[Spec] = [
        {
            "mark": {"type": "line", "strokeWidth": 2},
            "encoding": {
                "color": colour,
                "strokeDash": {**dashes("percentile", percentiles), "legend": STROKE_LEGEND},
                "detail": {"field": "path"},
                "order": {"field": "offered"},
            },
        },
        {"mark": POINT_MARK, "encoding": {"color": colour, "shape": colour, "tooltip": _TOOLTIP}},
        _OFFERED,
    ]
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


def _peak_layer(row: RowFacts, colour: Spec) -> Spec:
    peak = {"backend": row["backend"], "peak": row["peak_qps"], "number": _peak_words(row)}
    return {
        "data": {"values": [peak]},
        "mark": {"type": "rule", "strokeWidth": 3, "opacity": 0.5},
        "encoding": {
            "x": {"field": "peak", "type": "quantitative"},
            **UPRIGHT,
            "color": colour,
            "tooltip": fields(number="peak rate", backend=None),
        },
    }


def _peak_words(row: RowFacts) -> str:
    high = row["peak_qps_high"]
    bracket = f" (up to {amount(high)} was not ruled out)" if high else ""
    return f"{amount(row['peak_qps'], 'queries/s')}{bracket}"


def _server_sentence(rows: Sequence[RowFacts], slo: float | None) -> str:
    tried = [row for row in rows if row["achieved_qps"]]
    first, last = min(tried, key=_offered), max(tried, key=_offered)
    rate, median = amount(_offered(last), "offered queries/s"), amount(last["median"], "ms")
    span = (
        f"From {amount(_offered(first))} to {rate} the median latency goes from"
        f" {amount(first['median'], 'ms')} to {median}."
        if first is not last
        else f"At {rate} the median latency is {median}."
    )
    peaks = [row for row in rows if row["peak_qps"]]
    if not peaks:
        most = max(row["achieved_qps"] for row in tried)
        return f"{span} The most that was answered is {amount(most, 'queries/s')}."
    best = max(peaks, key=lambda row: float(row["peak_qps"]))
    limit = f" within {slo:g} ms" if slo else ""
    return f"{span} The peak rate{limit} is {_peak_words(best)}, of {path_words(best)}."


def offline_curves(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """Charts of throughput, latency and memory for each question; empty without any."""
    columns = ", ".join(f"r.{name}" for name in (*_QUESTION, "backend", "runtime", "cell_id"))
    values = ", ".join(f"o.{metric.column}::DOUBLE AS {metric.name}" for metric in _TRIED)
    sql = f"""
        SELECT {columns}, r.result_id, r.grade, o.batch_size AS size, o.queries, o.found, {values}
        FROM {selection.relation} r JOIN offline_curve o USING (result_id)
        ORDER BY r.cell_id, r.result_id, size
    """
    questions = grouped(source.arrow(sql).to_pylist(), _QUESTION)
    several = [rows for rows in questions if len({row["size"] for row in rows}) > 1]
    several.sort(key=lambda rows: -len(rows))
    charts: list[Chart] = []
    for metric in _TRIED:
        measured = ([row for row in rows if row[metric.name]] for rows in several[:limit])
        drawn = [_offline_chart(rows, metric) for rows in measured if rows]
        charts += with_remainder(drawn, max(len(several) - limit, 0))
    return tuple(charts)


def _offline_chart(rows: Sequence[RowFacts], metric: Metric) -> Chart:
    points = [_offline_point(row, metric) for row in rows]
    question = question_words(rows[0])
    shown = fields(number=metric.label, size=None, cell=None, path=None, queries=None, grade=None)
    ring = {
        "transform": [{"filter": "datum.found"}],
        "mark": {"type": "point", "size": 320, "strokeWidth": 1.5, "opacity": 1},
        "encoding": {"shape": {"value": "circle"}},
    }
    return Chart(
        file_stem("offline", metric.name, question),
        f"{uppercase_first(metric.label)} of every batch that was tried · {question}",
        _offline_sentence(rows, metric),
        {
            "data": {"values": points},
            "encoding": {
                "x": size_axis("size", "samples in a batch", (row["size"] for row in rows)),
                "y": metric_axis(metric, points),
            },
            "layer": [line_layer(points), *point_layers(points, shown), ring],
        },
        backends_of(points),
    )


def _offline_point(row: RowFacts, metric: Metric) -> Point:
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


def _offline_sentence(rows: Sequence[RowFacts], metric: Metric) -> str:
    chosen = [row for row in rows if row["found"]]
    if not chosen:
        return f"{len(rows)} batches were tried; the one that was found is not among them."
    best = max(chosen, key=lambda row: float(row[metric.name]))
    others = "" if len(chosen) == 1 else f" of {len(chosen)} searches, that"
    return (
        f"Rings mark the batch that a search found:{others} of {path_words(best)} is"
        f" {best['size']}, with a {metric.label} of {amount(best[metric.name], metric.unit)}."
    )
