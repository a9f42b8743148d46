"""Energy drawn: joules of a sample or a token, where counters of the hardware measured them."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.charts.chart import Chart
from analysis.charts.layers import Point, backends_of, log_axis, named_rows, point_layers, row_names
from analysis.charts.words import distinct_rows, noun_count, path_words, size_words
from analysis.results.metrics import METRICS
from analysis.results.selection import Selection
from analysis.results.series import SCOPE, SCOPE_SQL
from analysis.results.source import OWN_SOURCES, ArrowSource
from analysis.statistics.numbers import amount

_MOST_ROWS = 30
"""Rows of one drawing, those with the least energy of each scope first; more are counted."""
_STEP = 34


def energy_rows(source: ArrowSource, selection: Selection) -> tuple[Chart, ...]:
    """A chart of joules per sample and one per token; empty where nothing was measured."""
    return tuple(
        chart
        for metric in METRICS.values()
        if metric.is_of_energy
        and (unit := metric.label.partition(" per ")[2])
        and (chart := _chart(source, selection, unit, metric.column))
    )


def _chart(source: ArrowSource, selection: Selection, unit: str, column: str) -> Chart | None:
    sql = f"""
        SELECT * FROM (
            SELECT r.* REPLACE ({SCOPE_SQL} AS {SCOPE}),
                r.{column} AS value, count(*) OVER () AS results,
                row_number() OVER (PARTITION BY r.{SCOPE} ORDER BY r.{column}, r.cell_id) AS rank
            FROM {selection.relation} r WHERE r.{column} > 0
            ORDER BY rank, value, r.cell_id LIMIT {_MOST_ROWS}
        ) ORDER BY {SCOPE}, rank
    """
    rows = source.arrow(sql).to_pylist()
    if not rows:
        return None
    several = len({row[SCOPE] for row in rows}) > 1
    names = distinct_rows((_words(row, several=several), row["hostname"]) for row in rows)
    points = [_point(row, name, unit) for row, name in zip(rows, names, strict=True)]
    return Chart(
        f"energy-per-{unit}",
        f"Energy per {unit}, as counters of the hardware measured it",
        _sentence(rows, unit),
        _spec(points, unit),
        backends_of(points),
    )


def _words(row: Mapping[str, Any], *, several: bool) -> str:
    """The name of a row, with what its joules hold where that differs between rows."""
    words = [row["model"], row["precision"], row["mode"], *size_words(row)]
    scope = f" · {row[SCOPE]}" if several else ""
    work = ", ".join(str(word) for word in words if word != "inference")
    return f"{path_words(row)} · {work}{scope}"


def _point(row: Mapping[str, Any], name: str, unit: str) -> Point:
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
        "layer": [row_names(), *point_layers(points, shown)],
    }


def _sentence(rows: Sequence[Mapping[str, Any]], unit: str) -> str:
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
    sentences.append("Energies have no interval, so small differences show nothing.")
    if left_out := rows[0]["results"] - len(rows):
        sentences.append(f"{noun_count(left_out, 'result')} with more energy are not drawn.")
    return " ".join(sentences)
