"""Comparisons of two runs as sheets: a row a cell, and what differs beside the numbers."""

from collections.abc import Iterator, Sequence
from typing import Any

from analysis.compare.runs import ComparedCell, RunComparison
from analysis.results.differing import question_field, question_names
from analysis.results.table import Field, Table
from analysis.statistics.numbers import interval_text, number_range
from orchestrator.commands.compare.table import interval_ends
from orchestrator.commands.compare.words import basis_notes, basis_text, shared_words_of
from orchestrator.screen.sheet import ON_SCREEN, Sheet
from orchestrator.system.text import plural

_MOST_NAMED = 5
"""Cells of a kind that a sentence names; more are counted."""
_MOST_ROWS = 60
"""Cells that a terminal shows; files have all of them."""


def run_comparison_sheet(pair: RunComparison, form: str) -> Sheet:
    """The comparison as a sheet of this format: on a terminal no more than can be read."""
    data = [_data_row(cell) for cell in pair.cells]
    title = f"{pair.run_after} beside {pair.run_before}"
    table = _table(pair, pair.cells[: _MOST_ROWS if form == ON_SCREEN else None])
    notes = tuple(_notes(pair, hidden=len(pair.cells) - len(table.rows)))
    return Sheet(title, (table,), notes, _document(pair, data), data)


def _document(pair: RunComparison, rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The answer as JSON has it."""
    metric = pair.metric
    return {
        "metric": metric.name,
        "unit": metric.unit,
        "more_is_better": metric.more_is_better,
        "baseline": pair.run_before,
        "run": pair.run_after,
        "rows": rows,
        "changes": pair.changes,
        "verdicts": pair.verdicts,
        "only_in_baseline": pair.only_before,
        "only_in_run": pair.only_after,
        "not_compared": pair.not_compared,
    }


def _data_row(cell: ComparedCell) -> dict[str, Any]:
    before, row = cell.before, cell.after
    return {
        "cell": row.result.cell_id,
        "value": row.result.value,
        **interval_ends("value", row.result.interval),
        "baseline_value": before.value,
        **interval_ends("baseline_value", before.interval),
        "ratio": row.ratio,
        **interval_ends("ratio", row.interval),
        "speedup": row.speedup,
        **interval_ends("speedup", row.speedup_interval),
        "differs": row.differs,
        "grade": row.result.grade,
        "baseline_grade": before.grade,
        "interval_of": basis_text(row.result.basis),
        "baseline_interval_of": basis_text(before.basis),
        "marks": list(row.result.marks),
        "part": row.result.facts["part"],
        "changes": list(cell.changes),
    }


def _table(pair: RunComparison, cells: Sequence[ComparedCell]) -> Table:
    questions = question_names([group.shared for group in pair.comparison.groups])
    metric = pair.metric
    unit = metric.unit or metric.label
    fields = [
        *map(question_field, questions),
        Field("before", f"{unit} then", essential=True),
        Field("after", f"{unit} now", essential=True),
        Field("speedup", "times", essential=True),
        Field("marks", "mark", essential=True, wraps=True),
        Field("interval", "95 %", right=True),
        Field("differs"),
        Field("grades"),
    ]
    rows = [_shown(cell, questions) for cell in cells]
    work = shared_words_of(pair.comparison.groups)
    heading = f"{metric.label}, {pair.run_before} then and {pair.run_after} now: {work}"
    return Table(heading, fields, rows).filled()


def _shown(cell: ComparedCell, questions: Sequence[str]) -> dict[str, Any]:
    row = cell.after
    grades = (cell.before.facts["grade"], row.result.facts["grade"])
    return {
        **{name: row.result.facts[name] for name in questions},
        "before": cell.before.value,
        "after": row.result.value,
        "speedup": row.speedup,
        "interval": interval_text(row.speedup_interval),
        "differs": row.differs,
        "marks": ", ".join(dict.fromkeys((*cell.before.marks, *row.result.marks))),
        "grades": " ".join(grade or "–" for grade in grades),
    }


def _notes(pair: RunComparison, hidden: int) -> Iterator[str]:
    if hidden:
        yield f"{hidden:,} {plural(hidden, 'cell')} more: --output FILE.csv has them all"
    yield _answer(pair)
    yield from _verdict_notes(pair)
    yield from _change_notes(pair)
    yield from basis_notes(pair.comparison)


def _answer(pair: RunComparison) -> str:
    shown = [cell.after.speedup for cell in pair.cells if cell.after.differs]
    better = [times for times in shown if times > 1]
    worse = [times for times in shown if times < 1]
    unknown = sum(cell.after.differs is None for cell in pair.cells)
    same = len(pair.cells) - len(shown) - unknown
    parts = [
        *([f"{len(better):,} better ({number_range(better)} times as good)"] if better else []),
        *([f"{len(worse):,} worse ({number_range(worse)} times as good)"] if worse else []),
        *([f"{same:,} without a difference that is shown"] if same else []),
        *([f"{unknown:,} where nothing tells it from chance"] if unknown else []),
    ]
    count = len(pair.cells)
    return f"Of {count:,} {plural(count, 'cell')} of both runs: {', '.join(parts)}."


def _verdict_notes(pair: RunComparison) -> Iterator[str]:
    """Cells whose verdict changed, and those that one run alone has."""
    for verdict in pair.verdicts[:_MOST_NAMED]:
        yield f"{verdict.cell_id}: {verdict.then}, now {verdict.now}"
    if len(pair.verdicts) > _MOST_NAMED:
        yield f"{len(pair.verdicts) - _MOST_NAMED:,} verdicts more changed."
    for cells, run in ((pair.only_before, pair.run_before), (pair.only_after, pair.run_after)):
        if cells:
            more = f" and {len(cells) - _MOST_NAMED:,} more" if len(cells) > _MOST_NAMED else ""
            yield f"Only in {run}: {', '.join(cells[:_MOST_NAMED])}{more}."
    for words, count in pair.not_compared.items():
        yield f"Not compared: {count:,} {words}."


def _change_notes(pair: RunComparison) -> Iterator[str]:
    """Differences beside the numbers: those of all cells, then those of some."""
    if pair.changes:
        yield f"What differs beside it, in all cells: {'; '.join(pair.changes)}."
    changed = [cell for cell in pair.cells if cell.changes]
    for cell in sorted(changed, key=lambda one: not one.after.differs)[:_MOST_NAMED]:
        yield f"{cell.after.result.cell_id}: {'; '.join(cell.changes)}"
    if len(changed) > _MOST_NAMED:
        more = len(changed) - _MOST_NAMED
        yield f"{more:,} {plural(more, 'cell')} more with differences: --format json has them."
    if not (pair.changes or changed):
        yield "Nothing else that records tell differs between the runs."
