"""Use of the hardware drawn: rooflines, the share of the peak by family, and energy.

Rooflines are those of Williams, Waterman and Patterson, "Roofline: an insightful visual performance
model", 2009.
"""

from collections.abc import Iterator, Mapping, Sequence

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    POINT_MARK,
    STROKE_LEGEND,
    Point,
    backend_colour,
    backends_of,
    dashes,
    error_bars,
    fields,
    log_axis,
    point_layers,
    row_chart,
    row_names,
)
from analysis.charts.questions import MOST_CHARTS, grouped
from analysis.charts.words import (
    distinct_rows,
    file_stem,
    in_order,
    noun_count,
    path_words,
    remainder_words,
    size_words,
)
from analysis.results.metrics import METRICS, Metric
from analysis.results.selection import Selection
from analysis.results.series import SCOPE, SCOPE_SQL
from analysis.results.source import OWN_SOURCES, ArrowSource
from analysis.results.synonyms import axis_words
from analysis.results.table import RowFacts
from analysis.statistics.numbers import amount

_MOST_POINTS = 300
"""Points of one roofline, those nearest to the peak; others are counted."""
_MOST_ROWS = 30
"""Rows of other drawings, the best first; others are counted."""
_DASHES: Mapping[str, Sequence[int]] = {
    "fp32": (1, 0),
    "bf16": (8, 3),
    "fp16": (5, 3),
    "int8": (2, 3),
}
"""Lines of roofs by precision."""
_TOOLTIP = [
    *fields(rate="achieved", share="share of the peak"),
    *fields(",.3~g", intensity="FLOP per byte"),
    *fields(traffic=None, bound=None, time=None, part=None, cell=None, precision=None, grade=None),
]


def rooflines(
    source: ArrowSource, selection: Selection, limit: int = MOST_CHARTS
) -> tuple[Chart, ...]:
    """A chart for each device whose results have counted work; empty without any."""
    sql = f"""
        SELECT e.host, e.hardware, e.threads, e.precision, e.backend, e.runtime, e.cell_id, e.part,
            e.intensity, e.gflop_per_s, e.gb_per_s, e.peak_gflop_per_s, e.peak_gb_per_s, e.mfu,
            e.bound, e.time_ms, r.grade,
            count(*) OVER (PARTITION BY e.host, e.hardware) AS points
        FROM {selection.relation} r JOIN efficiency e USING (result_id)
        QUALIFY row_number() OVER (
            PARTITION BY e.host, e.hardware ORDER BY e.mfu DESC NULLS LAST, e.cell_id, e.part
        ) <= {_MOST_POINTS}
        ORDER BY points DESC, e.host, e.hardware, e.mfu DESC NULLS LAST, e.cell_id, e.part
    """
    devices = grouped(source.arrow(sql).to_pylist(), ("host", "hardware"))
    return tuple(map(_roofline, devices[:limit]))


def _roofline(rows: Sequence[RowFacts]) -> Chart:
    points = [_roofline_point(row) for row in rows]
    device = str(rows[0]["hardware"] or "unknown device")
    left_out = rows[0]["points"] - len(rows)
    return Chart(
        file_stem("roofline", device, rows[0]["host"]),
        f"Achieved arithmetic below the measured roofs · {device}",
        _roofline_sentence(rows)
        + remainder_words(left_out, "point", "with less of the peak are not drawn."),
        _roofline_spec(points, [*_roofs(rows)]),
        backends_of(points),
    )


def _roofline_point(row: RowFacts) -> Point:
    return {
        **{name: row[name] for name in ("backend", "precision", "part", "intensity")},
        "cell": row["cell_id"],
        "value": row["gflop_per_s"],
        "rate": amount(row["gflop_per_s"], "GFLOP/s"),
        "traffic": amount(row["gb_per_s"], "GB/s"),
        "share": f"{row['mfu']:.1%}" if row["mfu"] is not None else "no peak measured",
        "bound": row["bound"] or "not known",
        "time": amount(row["time_ms"], "ms"),
        "grade": row["grade"] or "none",
    }


def _roofline_spec(points: Sequence[Point], roofs: Sequence[Point]) -> Spec:
    colour = backend_colour(backends_of(points))
    both = [*points, *roofs]
    layers: list[Spec] = [
        {"mark": POINT_MARK, "encoding": {"color": colour, "shape": colour, "tooltip": _TOOLTIP}}
    ]
    if roofs:
        precisions = in_order((roof["precision"] for roof in roofs), _DASHES)
        dash = dashes("precision", {name: _DASHES[name] for name in precisions})
        roof_layer = {
            "data": {"values": roofs},
            "transform": [{"filter": "isValid(datum.value)"}],
            "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.8},
            "encoding": {
                "strokeDash": {**dash, "legend": {"title": "roof", **STROKE_LEGEND}},
                "detail": {"field": "roof"},
                "order": {"field": "intensity"},
            },
        }
        layers.insert(0, roof_layer)
    return {
        "data": {"values": points},
        "encoding": {
            "x": log_axis("intensity", "intensity, FLOP per byte", both, "intensity"),
            "y": log_axis("value", "achieved, GFLOP/s", both),
        },
        "layer": layers,
    }


def _roofs(rows: Sequence[RowFacts]) -> Iterator[Point]:
    """The corners of each roof: of memory up to the ridge, of arithmetic from there on."""
    intensities = [row["intensity"] for row in rows]
    first, last = min(intensities) / 2, max(intensities) * 2
    peaks = {
        (row["precision"], row["threads"], row["peak_gflop_per_s"], row["peak_gb_per_s"])
        for row in rows
        if row["peak_gflop_per_s"] and row["peak_gb_per_s"]
    }
    for precision, threads, flops, bandwidth in sorted(peaks, key=str):
        name = f"{precision}, {axis_words('threads', threads)}, {flops:g}, {bandwidth:g}"
        ridge = min(max(flops / bandwidth, first), last)
        for intensity in sorted({first, ridge, last}):
            value = min(flops, intensity * bandwidth)
            yield {"roof": name, "precision": precision, "intensity": intensity, "value": value}


def _roofline_sentence(rows: Sequence[RowFacts]) -> str:
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


def family_efficiencies(source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """The share of the peak by family, backend and runtime; empty without two families.

    Samples of two families are different work; counted arithmetic by the peak of the same machine
    is what they have in common.
    """
    sql = f"""
        SELECT *, count(*) OVER () AS rows, count(DISTINCT family) OVER () AS families FROM (
            SELECT r.family, r.backend, r.runtime, r.precision, median(e.mfu) AS share,
                min(e.mfu) AS low, max(e.mfu) AS high, count(*) AS n,
                count(DISTINCT r.model) AS models, arg_max(r.cell_id, e.mfu) AS best_cell
            FROM {selection.relation} r JOIN efficiency e USING (result_id)
            WHERE e.mfu > 0 AND e.part <> 'decode' AND r.family IS NOT NULL GROUP BY ALL
        ) ORDER BY share DESC, family, backend, runtime, precision LIMIT {_MOST_ROWS}
    """
    rows = source.arrow(sql).to_pylist()
    if not rows or rows[0]["families"] < 2:
        return ()
    points = [_family_point(row) for row in rows]
    x = log_axis("value", "share of peak FLOP/s: median, and from least to most", points)
    shown = fields(
        number="median share", span="least to most", n="results", models=None, cell="best cell"
    )
    layers = [row_names(), *error_bars(points, "x"), *point_layers(points, shown)]
    chart = Chart(
        "efficiency-by-family",
        "Share of the machine's measured peak by family of models",
        _family_sentence(rows),
        row_chart(points, {**x, "axis": {**x["axis"], "format": ".2~%"}}, layers),
        backends_of(points),
    )
    return (chart,)


def _family_point(row: RowFacts) -> Point:
    return {
        **{name: row[name] for name in ("backend", "low", "high", "n", "models", "family")},
        "row": f"{row['family']} · {path_words(row)}, {row['precision']} ({row['n']})",
        "value": row["share"],
        "number": f"{row['share']:.1%}",
        "span": f"{row['low']:.1%} to {row['high']:.1%}",
        "cell": row["best_cell"],
        "imported": False,
    }


def _family_sentence(rows: Sequence[RowFacts]) -> str:
    best, last = rows[0], rows[-1]
    left_out = remainder_words(best["rows"] - len(rows), "row", "with less are not drawn.")
    return (
        f"Half of the {noun_count(best['n'], 'result')} of {best['family']} on {path_words(best)},"
        f" {best['precision']}, reach {best['share']:.1%} of the peak or more; at the other end"
        f" stands {last['family']} on {path_words(last)}, {last['precision']}, with"
        f" {amount(100 * last['share'])}%. Bars go from the least to the most of different cells,"
        f" and are no intervals; the number in brackets is that of results.{left_out}"
    )


def energy_rows(source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """A chart of joules per sample and one per token; empty where nothing was measured."""
    metrics = (metric for metric in METRICS.values() if metric.is_of_energy)
    return tuple(chart for metric in metrics if (chart := _energy(source, selection, metric)))


def _energy(source: ArrowSource, selection: Selection, metric: Metric) -> Chart | None:
    sql = f"""
        SELECT * FROM (
            SELECT r.* REPLACE ({SCOPE_SQL} AS {SCOPE}),
                r.{metric.column} AS value, count(*) OVER () AS results,
                row_number() OVER (
                    PARTITION BY r.{SCOPE} ORDER BY r.{metric.column}, r.cell_id
                ) AS rank
            FROM {selection.relation} r WHERE r.{metric.column} > 0
            ORDER BY rank, value, r.cell_id LIMIT {_MOST_ROWS}
        ) ORDER BY {SCOPE}, rank
    """
    rows = source.arrow(sql).to_pylist()
    if not rows:
        return None
    unit = metric.label.partition(" per ")[2]
    several = len({row[SCOPE] for row in rows}) > 1
    names = distinct_rows((_energy_words(row, several=several), row["hostname"]) for row in rows)
    points = [_energy_point(row, name, unit) for row, name in zip(rows, names, strict=True)]
    shown = fields(number="energy", cell=None, scope=None, grade=None, proof=None)
    return Chart(
        f"energy-per-{unit}",
        f"Energy per {unit}, as counters of the hardware measured it",
        _energy_sentence(rows, unit),
        row_chart(
            points,
            log_axis("value", f"joules per {unit}", points, "value"),
            [row_names(), *point_layers(points, shown)],
        ),
        backends_of(points),
    )


def _energy_words(row: RowFacts, *, several: bool) -> str:
    """The name of a row, with what its joules hold where that differs between rows."""
    words = [row["model"], row["precision"], row["mode"], *size_words(row)]
    work = ", ".join(str(word) for word in words if word != "inference")
    return f"{path_words(row)} · {work}{f' · {row[SCOPE]}' if several else ''}"


def _energy_point(row: RowFacts, name: str, unit: str) -> Point:
    return {
        "row": name,
        "cell": row["cell_id"],
        "backend": row["backend"],
        "value": row["value"],
        "number": amount(row["value"], f"J per {unit}"),
        "scope": row[SCOPE],
        "grade": row["grade"] or "none",
        "proof": row["proof"],
        "imported": row["source"] not in OWN_SOURCES,
    }


def _energy_sentence(rows: Sequence[RowFacts], unit: str) -> str:
    """The least of each scope, since joules of different ones do not compare."""
    least = {row[SCOPE]: row for row in reversed(rows)}
    several = len(least) > 1
    sentences = [
        f"The least{f' of {scope}' if several else ''} is {amount(row['value'], 'J')} per {unit},"
        f" of {path_words(row)} in {row['cell_id']}."
        for scope, row in sorted(least.items())
    ]
    if several:
        sentences.append("Joules of different scopes do not compare.")
    left_out = rows[0]["results"] - len(rows)
    more = remainder_words(left_out, "result", "with more energy are not drawn.")
    return (
        f"{' '.join(sentences)} Energies have no interval, so small differences show nothing.{more}"
    )
