"""Comparisons by one property as sheets: a table for people, rows for files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy
from analysis.results.differing import QUESTION, fact_heading, question_field, question_names
from analysis.results.series import DETERMINED
from analysis.results.table import Field, Table
from analysis.statistics.numbers import interval_text
from analysis.statistics.ratios import Estimate
from orchestrator.commands.compare.words import basis_text, comparison_notes, heading, hidden_note
from orchestrator.screen.sheet import ON_SCREEN, Sheet

_MOST_GROUPS, _MOST_ROWS = 30, 20
"""Comparisons that a terminal shows, and results of each; files have all of them."""
_FOLLOWING = ("backend", "runtime", "model", "training_precision", "hostname")
"""Facts that follow from what is compared, and are named beside it."""
_BASELINE = "baseline"
_KIND = ("source", "mode", "scenario")
"""Facts of which each combination has a table of its own."""


def comparison_sheet(comparison: ComparisonBy, form: str) -> Sheet:
    """The comparison as a sheet of this format: on a terminal no more than can be read."""
    data = [_data_row(*pair) for pair in _pairs(comparison.groups)]
    title = f"{comparison.metric.label} by {comparison.by.replace('_', ' ')}"
    shown = _shortened(comparison.groups) if form == ON_SCREEN else comparison.groups
    rows = sum(len(group.rows) for group in comparison.groups[: len(shown)])
    hidden = rows - sum(len(group.rows) for group in shown)
    notes = (
        *hidden_note(len(comparison.groups) - len(shown), hidden),
        *comparison_notes(comparison),
    )
    tables = _tables(comparison, shown, repeats=form != ON_SCREEN)
    title = f"{title[:1].upper()}{title[1:]}"
    return Sheet(title, tables, notes, _document(comparison, data), data)


def _shortened(groups: Sequence[ComparedGroup]) -> list[ComparedGroup]:
    """The first comparisons, each with its baseline and the results that come first."""
    return [replace(group, rows=group.rows[:_MOST_ROWS]) for group in groups[:_MOST_GROUPS]]


def _pairs(groups: Sequence[ComparedGroup]) -> Iterator[tuple[int, ComparedGroup, ComparedValue]]:
    for number, group in enumerate(groups):
        for row in group.rows:
            yield number, group, row


def _document(comparison: ComparisonBy, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The answer as JSON has it."""
    metric, left_out, baselines = comparison.metric, comparison.left_out, comparison.baselines
    return {
        "by": comparison.by,
        "metric": metric.name,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
        "baseline": baselines[0] if len(baselines) == 1 else None,
        "rows": rows,
        "left_out": {
            "alone": comparison.alone,
            "on_other_hosts": left_out.on_other_hosts,
            "of_other_scopes": left_out.of_other_scopes,
            "behind_a_better_one": comparison.passed_over,
            "without_value": left_out.without_value,
            "unquotable": left_out.unquotable,
        },
    }


def _data_row(number: int, group: ComparedGroup, row: ComparedValue) -> dict[str, Any]:
    facts = row.result.facts
    return {
        "group": number,
        "cell": row.result.cell_id,
        "name": row.name,
        "value": row.result.value,
        **interval_ends("value", row.result.interval),
        "ratio": row.ratio,
        **interval_ends("ratio", row.interval),
        "speedup": row.speedup,
        **interval_ends("speedup", row.speedup_interval),
        "differs": row.differs,
        "scaling_efficiency": row.scaling_efficiency,
        "grade": row.result.grade,
        "interval_of": basis_text(row.result.basis),
        "marks": list(row.result.marks),
        "settings": list(row.settings),
        "baseline": group.baseline,
        "baseline_cell": group.rows[0].result.cell_id,
        "run_id": facts["run_id"],
        **{name: facts[name] for name in (*QUESTION, "source", "family", "host")},
    }


def interval_ends(name: str, interval: Estimate | None) -> dict[str, float | None]:
    """The ends of an interval under their names in files."""
    return {
        f"{name}_low": interval.low if interval else None,
        f"{name}_high": interval.high if interval else None,
    }


def _tables(
    comparison: ComparisonBy, groups: Sequence[ComparedGroup], *, repeats: bool
) -> list[Table]:
    """A table for each kind of measurement."""
    kinds = groupby(groups, key=lambda group: [group.shared.get(name) for name in _KIND])
    return [_table(comparison, list(kind), repeats=repeats) for _, kind in kinds]


def _table(comparison: ComparisonBy, groups: Sequence[ComparedGroup], *, repeats: bool) -> Table:
    """Comparisons as a table, facts that all share above it."""
    names = question_names([group.shared for group in groups])
    cells: list[dict[str, Any]] = []
    for _, group, row in _pairs(groups):
        is_first = row is group.rows[0]
        question = {name: group.shared.get(name) if is_first or repeats else "" for name in names}
        cells.append({**question, **_shown(row, group, comparison.by)})
    fields = [*map(question_field, names), *_fields(comparison)]
    title, marks = heading(comparison, groups), {cell["marks"] for cell in cells}
    if len(marks) == 1:
        fields = [field for field in fields if field.name != "marks"]
        title = " · ".join(filter(None, (title, *marks)))
    return Table(title, fields, cells).filled()


def _fields(comparison: ComparisonBy) -> list[Field]:
    metric = comparison.metric
    fields = [
        Field("name", fact_heading(comparison.by), essential=True, wraps=True),
        Field("value", metric.unit or metric.label, essential=True),
        Field("speedup", "times", essential=True),
        Field("scaling", essential=True),
        Field("marks", "mark", essential=True, wraps=True),
        Field("interval", "95 %", right=True),
        Field("differs"),
        Field("grade"),
    ]
    return fields if metric.more_is_better else [*fields, Field("ratio")]


def _shown(row: ComparedValue, group: ComparedGroup, by: str) -> dict[str, Any]:
    return {
        "name": _name(row, group, by),
        "value": row.result.value,
        "speedup": row.speedup,
        "interval": _BASELINE if row is group.rows[0] else interval_text(row.speedup_interval),
        "differs": row.differs,
        "scaling": row.scaling_efficiency,
        "marks": ", ".join(row.result.marks),
        "grade": row.result.facts["grade"],
        "ratio": row.ratio,
    }


def _name(row: ComparedValue, group: ComparedGroup, by: str) -> str | int:
    """The value, with what follows from it where that is more than the value says."""
    facts = row.result.facts
    following = {*DETERMINED[by], *(() if "host" in group.shared else ("hostname",))}
    follows = (facts[name] for name in _FOLLOWING if name in following)
    words = dict.fromkeys(str(fact) for fact in follows if fact is not None)
    beside = ", ".join(word for word in words if word != str(row.name))
    if isinstance(row.name, int) and not beside:
        return row.name
    return f"{row.name} ({beside})" if beside else str(row.name)
