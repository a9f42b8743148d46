"""Families of models drawn: their best backends, and the share of the machine's peak they reach."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart, Spec
from analysis.charts.layers import (
    Point,
    backends_of,
    error_bars,
    log_axis,
    named_rows,
    point_layers,
    row_names,
)
from analysis.charts.words import noun_count, path_words
from analysis.compatibility.families import REFERENCE, FamilySummary
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import amount

_MOST_ROWS = 30
_STEP = 34
"""Height of a row with its words above the mark, pixels."""
_AXIS = f"times as fast as {REFERENCE}: mean, and least to most"


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
    points = [_point(row) for row in rows]
    left_out = rows[0]["rows"] - len(rows)
    chart = Chart(
        "efficiency-by-family",
        "Share of the machine's measured peak by family of models",
        _sentence(rows)
        + (f" {noun_count(left_out, 'row')} with less are not drawn." if left_out else ""),
        _spec(points),
        backends_of(points),
    )
    return (chart,)


def _point(row: Mapping[str, Any]) -> Point:
    return {
        **{name: row[name] for name in ("backend", "low", "high", "n", "models", "family")},
        "row": f"{row['family']} · {path_words(row)}, {row['precision']} ({row['n']})",
        "value": row["share"],
        "number": f"{row['share']:.1%}",
        "span": f"{row['low']:.1%} to {row['high']:.1%}",
        "cell": row["best_cell"],
        "imported": False,
    }


def _spec(points: Sequence[Point]) -> Spec:
    shown = [
        {"field": "number", "title": "median share"},
        {"field": "span", "title": "least to most"},
        {"field": "n", "title": "results"},
        {"field": "models"},
        {"field": "cell", "title": "best cell"},
    ]
    x = log_axis("value", "share of peak FLOP/s: median, and from least to most", points)
    return _ranges(points, {**x, "axis": {**x["axis"], "format": ".2~%"}}, shown)


def _ranges(points: Sequence[Point], x: Spec, shown: Sequence[Spec]) -> Spec:
    """Points on named rows, each with a bar from the least to the most."""
    rows = named_rows([point["row"] for point in points], _STEP)
    return {
        "data": {"values": points},
        **rows,
        "encoding": {**rows["encoding"], "x": x},
        "layer": [row_names(), *error_bars(points, "x"), *point_layers(points, shown)],
    }


def _sentence(rows: Sequence[Mapping[str, Any]]) -> str:
    best, last = rows[0], rows[-1]
    results = noun_count(best["n"], "result")
    return (
        f"Half of the {results} of {best['family']} on {path_words(best)}, {best['precision']},"
        f" reach {best['share']:.1%} of the peak or more; at the other end stands {last['family']}"
        f" on {path_words(last)}, {last['precision']}, with {amount(100 * last['share'])}%. Bars"
        " go from the least to the most of different cells, and are no intervals; the number in"
        " brackets is that of results."
    )


def families_chart(families: Sequence[FamilySummary]) -> Chart | None:
    """The speed-up of each family's best backend; None if none was compared with the CPU."""
    points = [point for family in families if (point := _speedup_point(family)) is not None]
    if not points:
        return None
    points.sort(key=lambda point: -float(point["value"]))
    fields = [
        {"field": "number", "title": f"times as fast as {REFERENCE}"},
        {"field": "span", "title": "least to most"},
        {"field": "n", "title": "cells"},
        {"field": "doubt", "title": "beyond noise"},
    ]
    return Chart(
        "families",
        "Best backend of each family of models",
        _speedup_sentence(points, len(families)),
        _ranges(points, log_axis("value", _AXIS, points), fields),
        backends_of(points),
    )


def _speedup_point(family: FamilySummary) -> Point | None:
    speedup = family.speedup
    if speedup is None or family.backend is None:
        return None
    return {
        "row": f"{family.family}: {family.backend} ({speedup.cells})"
        f"{'' if family.is_sure else ' ?'}",
        "backend": family.backend,
        "value": speedup.value,
        "low": speedup.low,
        "high": speedup.high,
        "number": amount(speedup.value),
        "span": f"{amount(speedup.low)} to {amount(speedup.high)}",
        "n": speedup.cells,
        "doubt": "in most cells" if family.is_sure else "not in most cells",
        "imported": bool(family.sources),
    }


def _speedup_sentence(points: Sequence[Point], families: int) -> str:
    first = points[0]
    doubt = " ?: in most cells the difference is not beyond intervals and grades."
    return (
        f"The greatest mean speed-up is {first['number']}, of {first['row'].partition(' (')[0]};"
        f" {len(points)} of {families} families could be compared with the"
        f" {REFERENCE.upper()}. Bars go from the least to the most of different cells, whose number"
        " stands in brackets, and are no intervals."
        f"{doubt if any(point['doubt'].startswith('not') for point in points) else ''}"
    )
