"""`compare`: results side by side, by one property or run by run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.verdict import RequireGrade, share
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import (
    complete_metric,
    complete_property,
    complete_side,
)
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.screen.sheet_output import SheetOutput
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from analysis.compare.compare import ComparisonBy
    from orchestrator.commands.results.selection import SelectionRequest
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


_OF_A_PROPERTY = ("by", "baseline", "run")
_NOT_JUDGED = ("across_hosts",)
"""Options of a comparison that no verdict takes."""


@dataclass(frozen=True, kw_only=True)
class CompareCommand(SheetOutput, ResultSelection, Command):
    """Compare results by one property, or two runs cell by cell."""

    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="BASE RUN",
            help="Two runs to compare cell by cell, or snapshots, hosts and paths, named as"
            " `regress` names them; else --by.",
            show_default=False,
            autocompletion=complete_side,
        ),
    ] = None
    by: Annotated[
        str | None,
        typer.Option(
            metavar="PROPERTY",
            help="backend, runtime, precision, mode, model, family, hardware, batch_size,"
            " sequence_length, threads, workers or run.",
            autocompletion=complete_property,
        ),
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="M",
            help="latency, throughput, memory, p99, ttft, …, or a number column of a view."
            "  [default: latency; throughput by batch or sequence]",
            autocompletion=complete_metric,
        ),
    ] = None
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="The value to compare with.  [default: cpu, torch, fp32, inference, 1, the first"
            " run, else the slowest]",
        ),
    ] = None
    across_hosts: Annotated[
        bool, typer.Option("--across-hosts", help="Compare results of different machines too.")
    ] = False
    fail_slower: Annotated[
        float | None,
        typer.Option(
            "--fail-slower",
            metavar="SHARE",
            help="Judge both runs as `regress` does, with its exit codes, e.g. 10%.",
            parser=share("--fail-slower"),
        ),
    ] = None
    require_grade: RequireGrade = None

    def execute(self) -> int:
        """Compare, or judge both runs."""
        selected = self.selected
        self.require(selected.database)
        if self.runs:
            self.refuse_beside("two runs", _OF_A_PROPERTY)
            before, after = _two(self.runs)
            if self.fail_slower is not None:
                self.refuse_beside("--fail-slower", _NOT_JUDGED)
                return self._judge(before, after, selected, self.fail_slower)
            self._compare_runs(before, after, selected)
            return 0
        if self.by is None or self.fail_slower is not None:
            judged = self.fail_slower is not None
            needed = "two runs" if judged else "a property or two runs"
            raise UsageError(
                f"compare{' --fail-slower' if judged else ''} needs {needed}",
                hint="for example `orchestrator compare --by backend`, or `orchestrator compare"
                " last~1 last`",
            )
        from analysis.charts.comparisons import comparison_chart
        from orchestrator.commands.compare.answer import ComparisonRequest, compare_results
        from orchestrator.commands.compare.table import comparison_sheet

        comparison = compare_results(
            ComparisonRequest(selected, self.by, self.metric, self.baseline, self.across_hosts)
        )
        self.draw(lambda: comparison_chart(comparison))
        self.show(comparison_sheet(comparison, self.format))
        self._require_grade(comparison, selected)
        return 0

    def _compare_runs(self, before: str, after: str, selected: "SelectionRequest") -> None:
        from analysis.charts.comparisons import comparison_chart
        from orchestrator.commands.compare.answer import RunPairRequest, compare_run_pair

        pair = compare_run_pair(
            RunPairRequest(selected, before, after, self.metric, self.across_hosts)
        )
        self.draw(lambda: comparison_chart(pair.comparison))
        self.show(run_comparison_sheet(pair, self.format))
        self._require_grade(pair.comparison, selected)

    def _judge(
        self, before: str, after: str, selected: "SelectionRequest", threshold: float
    ) -> int:
        """Judge the second run as `regress` does; the exit code."""
        from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
        from orchestrator.commands.regress.output import show_verdicts
        from orchestrator.screen.sheet import SHEET_SUFFIXES

        answer = judge_regressions(
            RegressionRequest(
                *(selected, before, after),
                metrics=(self.metric,) if self.metric else (),
                threshold=threshold,
                require_grade=self.require_grade,
            )
        )
        self.draw(answer.chart)
        show_verdicts(answer, self.form, self.output, wide=self.wide, suffixes=SHEET_SUFFIXES)
        return answer.exit_code

    def _require_grade(self, comparison: "ComparisonBy", selected: "SelectionRequest") -> None:
        """Insist that what was compared has no worse grade."""
        from orchestrator.commands.results.grades import require_grade

        results = [row.result for group in comparison.groups for row in group.rows]
        graded = {f"{one.cell_id} of {one.facts['run_id']}": one.grade for one in results}
        run = max((str(one.facts["run_id"]) for one in results), default="last")
        required, database = self.require_grade, selected.database
        require_grade(graded.items(), required, run=run, database=database)


def _two(runs: list[str]) -> tuple[str, str]:
    if len(runs) != 2:
        raise UsageError(
            f"compare takes two runs, not {len(runs)}",
            hint="for example `orchestrator compare last~1 last`",
        )
    return runs[0], runs[1]
