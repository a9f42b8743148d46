"""Energy drawn: joules of a sample or a token, where counters of the hardware measured them."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.layers import Point, backends_of, log_axis, named_rows, point_layers, row_names
from analysis.charts.words import amount, distinct_rows, noun_count, path_words, size_words
from analysis.results.selection import Selection
from analysis.results.source import OWN_SOURCES, ArrowSource

_MOST_ROWS = 30
"""Rows of one drawing; more are noun_count, the least energy stays."""
_STEP = 34
_UNITS: Mapping[str, str] = {
    "sample": "energy_per_sample_joules",
    "token": "energy_per_token_joules",
}


def energy_rows(source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """A chart of joules per sample and one per token; empty where nothing was measured."""
    return tuple(
        chart
        for unit, column in _UNITS.items()
        if (chart := _chart(source, selection, unit, column))
    )


def _chart(source: ArrowSource, selection: Selection, unit: str, column: str) -> Chart | None:
    sql = f"""
        SELECT r.*, r.{column} AS value, count(*) OVER () AS results
        FROM {selection.relation} r WHERE r.{column} > 0
        ORDER BY value, r.cell_id LIMIT {_MOST_ROWS}
    """
    rows = source.arrow(sql).to_pylist()
    if not rows:
        return None
    names = distinct_rows((_words(row), row["hostname"]) for row in rows)
    points = [_point(row, name, unit) for row, name in zip(rows, names, strict=True)]
    return Chart(
        f"energy-per-{unit}",
        f"Energy per {unit}, as counters of the hardware measured it",
        _sentence(rows, unit),
        _spec(points, unit),
        backends_of(points),
    )


def _words(row: Mapping[str, Any]) -> str:
    words = [row["model"], row["precision"], row["mode"], *size_words(row)]
    return f"{path_words(row)} · {', '.join(str(word) for word in words if word != 'inference')}"


def _point(row: Mapping[str, Any], name: str, unit: str) -> Point:
    return {
        "row": name,
        "cell": row["cell_id"],
        "backend": row["backend"],
        "value": row["value"],
        "number": amount(row["value"], f"J per {unit}"),
        "scope": row["energy_scope"],
        "grade": row["grade"] or "none",
        "proof": row["proof"],
        "imported": row["source"] not in OWN_SOURCES,
    }


def _spec(points: Sequence[Point], unit: str) -> dict[str, Any]:
    order = [point["row"] for point in points]
    names = ("cell", "scope", "grade", "proof")
    shown = [{"field": "number", "title": "energy"}, *({"field": name} for name in names)]
    rows = named_rows(order, _STEP)
    x = log_axis("value", f"joules per {unit}", points, "value")
    return {
        "data": {"values": points},
        **rows,
        "encoding": {**rows["encoding"], "x": x},
        "layer": [
            row_names(),
            *point_layers(points, shown),
        ],
    }


def _sentence(rows: Sequence[Mapping[str, Any]], unit: str) -> str:
    least = rows[0]
    left_out = least["results"] - len(rows)
    more = f" {noun_count(left_out, 'result')} with more energy are not drawn." if left_out else ""
    return (
        f"The least is {amount(least['value'], 'J')} per {unit}, of {path_words(least)} in"
        f" {least['cell_id']}; energies have no interval, so small differences show nothing.{more}"
    )
