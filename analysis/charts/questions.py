"""Questions that charts draw: the sets of results that differ in one size, the richest first."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from analysis.compare.values import MetricValue
from analysis.results.selection import Selection
from analysis.results.series import agreeing_columns
from analysis.results.source import ArrowSource, text
from runner.contract.axes import SIZE_AXES

MOST_CHARTS = 6
"""Charts of one kind, where nobody asks for more."""
_ASKED = ("model", "precision", "mode", "scenario", *SIZE_AXES, "host")


@dataclass(frozen=True)
class Questions:
    """The questions with most values, as a selection, and how many are not in it."""

    selection: Selection
    left_out: int


def richest_questions(
    source: ArrowSource, selection: Selection, over: str, limit: int = MOST_CHARTS
) -> Questions | None:
    """The questions whose results differ in this column, those with most values first.

    None where there is no such question. The scenario `offline` tries batches on its own, which
    are not results. They are found in SQL, so that of a large database only
    what is drawn is read.
    """
    keys = [name for name in _ASKED if name != over]
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
    return Questions(narrowed, rows[0]["questions"] - len(rows))


def groups_over(results: Iterable[MetricValue], over: str) -> list[list[MetricValue]]:
    """Results by question: backends, runtimes and values of this column side by side."""
    columns = [name for name in agreeing_columns("backend") if name != over]
    groups: dict[tuple[Any, ...], list[MetricValue]] = defaultdict(list)
    for value in results:
        groups[tuple(value.facts[name] for name in columns)].append(value)
    several = [group for group in groups.values() if len({one.facts[over] for one in group}) > 1]
    return sorted(several, key=lambda group: -len(group))


def remainder(left_out: int) -> str:
    """A sentence on the questions without a chart; empty if there are none."""
    if not left_out:
        return ""
    noun = "question has" if left_out == 1 else "questions have"
    return f" {left_out} more {noun} no chart here: choose them with `--select`."


def _equal(row: dict[str, Any], keys: Sequence[str]) -> str:
    return " AND ".join(f"r.{name} IS NOT DISTINCT FROM {_literal(row[name])}" for name in keys)


def _literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return text(value) if isinstance(value, str) else str(value)
