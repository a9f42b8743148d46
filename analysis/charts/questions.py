"""Questions that charts draw: the sets of results that differ in one size, the richest first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from analysis.results.selection import Selection
from analysis.results.source import ArrowSource, text
from analysis.results.table import RowFacts
from runner.contract.axes import SIZE_AXES

MOST_CHARTS = 6
"""Charts of one kind, where nobody asks for more."""
ASKED = ("model", "precision", "mode", "scenario", *SIZE_AXES, "host")


def richest_questions(
    source: ArrowSource, selection: Selection, over: str, limit: int = MOST_CHARTS
) -> tuple[Selection, int] | None:
    """The questions whose results differ in this column, those with most values first.

    They are a selection, beside the number of those left out; None where there is no such question.
    They are found in SQL, so that of a large database only what is drawn is read.
    """
    keys = [name for name in ASKED if name != over]
    sql = f"""
        SELECT {", ".join(keys)}, count(*) OVER () AS questions FROM (
            SELECT {", ".join(f"r.{name}" for name in keys)},
                count(DISTINCT r.{over}) AS width, count(*) AS results
            FROM {selection.relation} r
            WHERE r.scenario <> 'offline' GROUP BY ALL HAVING width > 1
        ) ORDER BY width DESC, results DESC, {", ".join(keys)} LIMIT {limit}
    """
    rows = source.arrow(sql).to_pylist()
    if not rows:
        return None
    conditions = " OR ".join(f"({_equal(row, keys)})" for row in rows)
    narrowed = replace(selection, condition=f"({selection.condition}) AND ({conditions})")
    return narrowed, rows[0]["questions"] - len(rows)


def _equal(row: RowFacts, keys: Sequence[str]) -> str:
    return " AND ".join(f"r.{name} IS NOT DISTINCT FROM {_literal(row[name])}" for name in keys)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return text(value) if isinstance(value, str) else str(value)


def grouped(rows: Iterable[RowFacts], names: Sequence[str]) -> list[list[RowFacts]]:
    """Rows that agree in these columns."""
    groups: dict[tuple[Any, ...], list[RowFacts]] = defaultdict(list)
    for row in rows:
        groups[tuple(row[name] for name in names)].append(row)
    return [*groups.values()]
