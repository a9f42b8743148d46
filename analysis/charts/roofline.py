"""Rooflines: achieved arithmetic by intensity, below the measured peaks of the machine.

Williams, Waterman and Patterson, "Roofline: an insightful visual performance model", 2009.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import Point, backend_colour, backends_of, log_axis
from analysis.charts.questions import MOST_CHARTS
from analysis.charts.words import file_stem, in_order, noun_count, path_words
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.results.synonyms import axis_words
from analysis.statistics.numbers import amount

MOST_POINTS = 300
"""Points of one drawing; more are noun_count, those nearest to the peak stay."""
_DASHES: Mapping[str, Sequence[int]] = {
    "fp32": (1, 0),
    "bf16": (8, 3),
    "fp16": (5, 3),
    "int8": (2, 3),
}
"""Lines of roofs by precision."""


def rooflines(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """A chart for each device whose results have noun_count work; empty without any."""
    sql = f"""
        SELECT e.host, e.hardware, e.threads, e.precision, e.backend, e.runtime, e.cell_id, e.part,
            e.intensity, e.gflop_per_s, e.gb_per_s, e.peak_gflop_per_s, e.peak_gb_per_s, e.mfu,
            e.bound, e.time_ms, r.grade,
            count(*) OVER (PARTITION BY e.host, e.hardware) AS points
        FROM {selection.relation} r JOIN efficiency e USING (result_id)
        QUALIFY row_number() OVER (
            PARTITION BY e.host, e.hardware ORDER BY e.mfu DESC NULLS LAST, e.cell_id, e.part
        ) <= {MOST_POINTS}
        ORDER BY points DESC, e.host, e.hardware, e.mfu DESC NULLS LAST, e.cell_id, e.part
    """
    devices: dict[tuple[Any, ...], list[Mapping[str, Any]]] = defaultdict(list)
    for row in source.arrow(sql).to_pylist():
        devices[row["host"], row["hardware"]].append(row)
    return tuple(_chart(rows) for rows in [*devices.values()][:limit])


def _chart(rows: Sequence[Mapping[str, Any]]) -> Chart:
    points = [_point(row) for row in rows]
    device = str(rows[0]["hardware"] or "unknown device")
    left_out = rows[0]["points"] - len(rows)
    more = (
        f" {noun_count(left_out, 'point')} with less of the peak are not drawn." if left_out else ""
    )
    return Chart(
        file_stem("roofline", device, rows[0]["host"]),
        f"Achieved arithmetic below the measured roofs · {device}",
        _sentence(rows) + more,
        _spec(points, rows),
        backends_of(points),
    )


def _point(row: Mapping[str, Any]) -> dict[str, Any]:
    share = f"{row['mfu']:.1%}" if row["mfu"] is not None else "no peak measured"
    return {
        **{name: row[name] for name in ("backend", "precision", "part", "intensity")},
        "cell": row["cell_id"],
        "value": row["gflop_per_s"],
        "rate": amount(row["gflop_per_s"], "GFLOP/s"),
        "traffic": amount(row["gb_per_s"], "GB/s"),
        "share": share,
        "bound": row["bound"] or "not known",
        "time": amount(row["time_ms"], "ms"),
        "grade": row["grade"] or "none",
    }


def _spec(points: Sequence[Point], rows: Sequence[Mapping[str, Any]]) -> Spec:
    colour = backend_colour(backends_of(points))
    roofs = _roofs(rows)
    x = log_axis("intensity", "intensity, FLOP per byte", [*points, *roofs], "intensity")
    y = log_axis("value", "achieved, GFLOP/s", [*points, *roofs])
    marks = {
        "mark": {"type": "point", "filled": True, "size": 70, "opacity": 1},
        "encoding": {"color": colour, "shape": colour, "tooltip": _TOOLTIP},
    }
    if not roofs:
        return {"data": {"values": points}, "encoding": {"x": x, "y": y}, "layer": [marks]}
    precisions = in_order((roof["precision"] for roof in roofs), _DASHES)
    dash = {
        "field": "precision",
        "type": "nominal",
        "scale": {"domain": precisions, "range": [list(_DASHES[name]) for name in precisions]},
        "legend": {"title": "roof", "symbolType": "stroke", "symbolSize": 400},
    }
    roof_layer = {
        "data": {"values": roofs},
        "transform": [{"filter": "isValid(datum.value)"}],
        "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
        "encoding": {
            "strokeDash": dash,
            "detail": {"field": "roof"},
            "order": {"field": "intensity"},
        },
    }
    return {"data": {"values": points}, "encoding": {"x": x, "y": y}, "layer": [roof_layer, marks]}


def _roofs(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The corners of each roof: of memory up to the ridge, of arithmetic from there on."""
    intensities = [row["intensity"] for row in rows]
    first, last = min(intensities) / 2, max(intensities) * 2
    peaks = {
        (row["precision"], row["threads"], row["peak_gflop_per_s"], row["peak_gb_per_s"])
        for row in rows
        if row["peak_gflop_per_s"] and row["peak_gb_per_s"]
    }
    corners = []
    for precision, threads, flops, bandwidth in sorted(peaks, key=str):
        ridge = flops / bandwidth
        name = f"{precision}, {axis_words('threads', threads)}, {flops:g}, {bandwidth:g}"
        for intensity in sorted({first, min(max(ridge, first), last), last}):
            value = min(flops, intensity * bandwidth)
            corners.append(
                {"roof": name, "precision": precision, "intensity": intensity, "value": value}
            )
    return corners


def _sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    known = [row for row in rows if row["mfu"] is not None]
    if not known:
        fastest = max(rows, key=lambda row: float(row["gflop_per_s"]))
        rate = amount(fastest["gflop_per_s"], "GFLOP/s")
        return f"The most is {rate}, of {fastest['cell_id']}; no peak of this machine was measured."
    best = max(known, key=lambda row: float(row["mfu"]))
    memory = sum(row["bound"] == "memory" for row in rows)
    return (
        f"The highest share of the measured peak is {best['mfu']:.0%}, of {path_words(best)} in"
        f" {best['cell_id']}: {amount(best['gflop_per_s'])} of"
        f" {amount(best['peak_gflop_per_s'], 'GFLOP/s')}. {memory} of"
        f" {noun_count(len(rows), 'point')} {'is' if memory == 1 else 'are'} limited by memory."
    )


_TOOLTIP = [
    {"field": "rate", "title": "achieved"},
    {"field": "share", "title": "share of the peak"},
    {"field": "intensity", "title": "FLOP per byte", "format": ",.3~g"},
    *({"field": name} for name in ("traffic", "bound", "time", "part", "cell", "precision")),
    {"field": "grade"},
]
