"""Comparisons as sheets, by one property and of two runs: a table for people, rows for files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

from analysis.compare.compare import ComparedGroup, ComparedValue, ComparisonBy
from analysis.compare.runs import ComparedCell, RunComparison
from analysis.results.differing import QUESTION, fact_heading, question_field, questions
from analysis.results.metrics import Metric
from analysis.results.series import DETERMINED
from analysis.results.table import Field, Table
from analysis.statistics.ratios import Estimate, interval_text, outcome_facts, undecided_reason
from orchestrator.commands.compare.words import (
    basis_text,
    comparison_notes,
    heading,
    hidden_note,
    pair_notes,
    shared_words_of,
)
from orchestrator.screen.sheet import ON_SCREEN, Sheet

_MOST_GROUPS, _MOST_ROWS = 30, 20
"""Comparisons that a terminal shows, and results of each; files have all of them."""
_MOST_CELLS = 60
_FOLLOWING = ("backend", "runtime", "model", "training_precision", "hostname")
"""Facts that follow from what is compared, and are named beside it."""
_BASELINE = "baseline"
_OUTCOME = Field("outcome")
_ROUNDS = Field("side_by_side_rounds", "side by side", shown=lambda n: n and f"{n} rounds")
_REASON = Field("undecided_because", "undecided by", shown=undecided_reason)
_KIND = ("source", "mode", "scenario")
"""Facts of which each combination has a table of its own."""


def comparison_sheet(comparison: ComparisonBy, form: str) -> Sheet:
    """The comparison as a sheet of this format: on a terminal no more than can be read."""
    metric, left_out, groups = comparison.metric, comparison.left_out, comparison.groups
    data = [_data_row(*pair, metric) for pair in _pairs(groups)]
    shown = groups
    if form == ON_SCREEN:
        shown = tuple(
            replace(group, rows=group.rows[:_MOST_ROWS]) for group in groups[:_MOST_GROUPS]
        )
    rows = sum(len(group.rows) for group in groups[: len(shown)])
    hidden = rows - sum(len(group.rows) for group in shown)
    notes = (*hidden_note(len(groups) - len(shown), hidden), *comparison_notes(comparison))
    kinds = groupby(shown, key=lambda group: [group.shared.get(name) for name in _KIND])
    tables = [_table(comparison, list(kind), repeats=form != ON_SCREEN) for _, kind in kinds]
    title = f"{metric.label} by {comparison.by.replace('_', ' ')}"
    baselines = comparison.baselines
    document = {
        "by": comparison.by,
        "metric": metric.name,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
        "baseline": baselines[0] if len(baselines) == 1 else None,
        "threshold": metric.threshold,
        "rows": data,
        "left_out": {
            "alone": comparison.alone,
            "on_other_hosts": left_out.on_other_hosts,
            "of_other_scopes": left_out.of_other_scopes,
            "behind_a_better_one": comparison.passed_over,
            "without_value": left_out.without_value,
            "unquotable": left_out.unquotable,
        },
    }
    return Sheet(f"{title[:1].upper()}{title[1:]}", tables, notes, document, data)


def _pairs(groups: Sequence[ComparedGroup]) -> Iterator[tuple[int, ComparedGroup, ComparedValue]]:
    for number, group in enumerate(groups):
        yield from ((number, group, row) for row in group.rows)


def _data_row(
    number: int, group: ComparedGroup, row: ComparedValue, metric: Metric
) -> dict[str, Any]:
    facts = row.result.facts
    return {
        "group": number,
        "cell": row.result.cell_id,
        "name": row.name,
        **_ends("value", row.result.value, row.result.interval),
        **_ends("ratio", row.ratio, row.interval),
        **_ends("speedup", row.speedup, row.speedup_interval),
        **outcome_facts(row.outcome, metric),
        **_spreads(row),
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


def _spreads(row: ComparedValue) -> dict[str, float | None]:
    """The noise of a ratio side by side: standard deviations of its logarithm."""
    pair = row.pair
    return {
        "spread_between_rounds": pair.between if pair else None,
        "spread_within_rounds": pair.within if pair else None,
    }


def _ends(name: str, value: float, interval: Estimate | None) -> dict[str, float | None]:
    return {
        name: value,
        f"{name}_low": interval.low if interval else None,
        f"{name}_high": interval.high if interval else None,
    }


def _table(comparison: ComparisonBy, groups: Sequence[ComparedGroup], *, repeats: bool) -> Table:
    metric = comparison.metric
    names = questions([group.shared for group in groups])
    cells: list[dict[str, Any]] = []
    for _, group, row in _pairs(groups):
        is_first = row is group.rows[0]
        question = {name: group.shared.get(name) if is_first or repeats else "" for name in names}
        outcome = outcome_facts(row.outcome, metric)
        cells.append({**question, **_shown(row, group, comparison.by), **outcome})
    title, marks = heading(comparison, groups), {cell["marks"] for cell in cells}
    is_marked_alike = len(marks) == 1
    fields = [
        *map(question_field, names),
        Field("name", fact_heading(comparison.by), essential=True, wraps=True),
        Field("value", metric.unit or metric.label, essential=True),
        Field("speedup", "times", essential=True),
        Field("scaling", essential=True),
        *([] if is_marked_alike else [Field("marks", "mark", essential=True, wraps=True)]),
        Field("interval", "95 %", right=True),
        _OUTCOME,
        _ROUNDS,
        Field("grade"),
        _REASON,
        *([] if metric.more_is_better else [Field("ratio")]),
    ]
    if is_marked_alike:
        title = " · ".join(filter(None, (title, *marks)))
    return Table(title, fields, cells).filled()


def _shown(row: ComparedValue, group: ComparedGroup, by: str) -> dict[str, Any]:
    return {
        "name": _name(row, group, by),
        "value": row.result.value,
        "speedup": row.speedup,
        "interval": _BASELINE if row is group.rows[0] else interval_text(row.speedup_interval),
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


def run_comparison_sheet(pair: RunComparison, form: str) -> Sheet:
    """The comparison of two runs as a sheet: on a terminal no more than can be read."""
    metric = pair.metric
    data = [_pair_data(cell, metric) for cell in pair.cells]
    document: Mapping[str, Any] = {
        "metric": metric.name,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
        "baseline": pair.run_before,
        "run": pair.run_after,
        "threshold": metric.threshold,
        "rows": data,
        "changes": pair.changes,
        "verdicts": pair.verdicts,
        "only_in_baseline": pair.only_before,
        "only_in_run": pair.only_after,
        "not_compared": pair.not_compared,
    }
    table = _pair_table(pair, pair.cells[: _MOST_CELLS if form == ON_SCREEN else None])
    notes = tuple(pair_notes(pair, hidden=len(pair.cells) - len(table.rows)))
    return Sheet(f"{pair.run_after} beside {pair.run_before}", (table,), notes, document, data)


def _pair_data(cell: ComparedCell, metric: Metric) -> dict[str, Any]:
    before, row = cell.before, cell.after
    return {
        "cell": row.result.cell_id,
        **_ends("value", row.result.value, row.result.interval),
        **_ends("baseline_value", before.value, before.interval),
        **_ends("ratio", row.ratio, row.interval),
        **_ends("speedup", row.speedup, row.speedup_interval),
        **outcome_facts(row.outcome, metric),
        **_spreads(row),
        "grade": row.result.grade,
        "baseline_grade": before.grade,
        "interval_of": basis_text(row.result.basis),
        "baseline_interval_of": basis_text(before.basis),
        "marks": list(row.result.marks),
        "part": row.result.facts["part"],
        "changes": list(cell.changes),
    }


def _pair_table(pair: RunComparison, cells: Sequence[ComparedCell]) -> Table:
    groups = pair.comparison.groups
    names = questions([group.shared for group in groups])
    unit = pair.metric.unit or pair.metric.label
    fields = [
        *map(question_field, names),
        Field("before", f"{unit} then", essential=True),
        Field("after", f"{unit} now", essential=True),
        Field("speedup", "times", essential=True),
        Field("marks", "mark", essential=True, wraps=True),
        Field("interval", "95 %", right=True),
        _OUTCOME,
        _ROUNDS,
        Field("grades"),
        _REASON,
    ]
    rows = []
    for cell in cells:
        before, row = cell.before, cell.after
        grades = (before.facts["grade"], row.result.facts["grade"])
        shown = {
            "before": before.value,
            "after": row.result.value,
            "speedup": row.speedup,
            "interval": interval_text(row.speedup_interval),
            **outcome_facts(row.outcome, pair.metric),
            "marks": ", ".join(dict.fromkeys((*before.marks, *row.result.marks))),
            "grades": " ".join(grade or "–" for grade in grades),
        }
        rows.append({name: row.result.facts[name] for name in names} | shown)
    sides = f"{pair.run_before} then and {pair.run_after} now"
    title = f"{pair.metric.label}, {sides}: {shared_words_of(groups)}"
    return Table(title, fields, rows).filled()
