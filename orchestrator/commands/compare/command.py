"""`compare`: results side by side, by one property or run by run."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.verdict import RequireGrade, Threshold, share
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import (
    complete_metric,
    complete_property,
    complete_side,
)
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.screen.sheet import SHEET_SUFFIXES
from orchestrator.screen.sheet_output import SheetOutput
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from analysis.compare.compare import ComparisonBy
    from orchestrator.commands.results.selection import SelectionRequest

_OF_A_PROPERTY = ("by", "baseline", "run")
_NOT_JUDGED = ("across_hosts", "threshold")
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
            help="backend, runtime, precision, model, family, hardware, hostname,"
            " batch_size, sequence_length, threads, workers or run.",
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
            help="The value to compare with.  [default: cpu, torch, fp32, 1, the first"
            " run, else the slowest]",
        ),
    ] = None
    across_hosts: Annotated[
        bool, typer.Option("--across-hosts", help="Compare results of different machines too.")
    ] = False
    fail_slower: Annotated[
        float | None,
        typer.Option(
            metavar="SHARE",
            help="Judge both runs as `regress` does, with its exit codes, e.g. 10%.",
            parser=share("--fail-slower"),
        ),
    ] = None
    threshold: Threshold = None
    require_grade: RequireGrade = None

    def execute(self) -> int:
        from orchestrator.commands.compare.answer import compare_results
        from orchestrator.commands.compare.table import comparison_sheet

        selected = self.selected
        self.require(selected.database)
        if self.runs:
            self.refuse_beside("two runs", _OF_A_PROPERTY)
            return self._compare_runs(self.runs, selected)
        if self.by is None or self.fail_slower is not None:
            judged = self.fail_slower is not None
            needed = "two runs" if judged else "a property or two runs"
            raise UsageError(
                f"compare{' --fail-slower' if judged else ''} needs {needed}",
                hint="for example `orchestrator compare --by backend`, or `orchestrator compare"
                " last~1 last`",
            )
        comparison = compare_results(
            *(selected, self.by),
            metric=self.metric,
            baseline=self.baseline,
            across_hosts=self.across_hosts,
        )
        self._draw(comparison)
        self.show(comparison_sheet(comparison, self.format))
        self._require_grade(comparison, selected)
        return 0

    def _compare_runs(self, runs: list[str], selected: "SelectionRequest") -> int:
        """Compare both runs, or judge the second one as `regress` does; returns the exit code."""
        from orchestrator.commands.compare.answer import compare_run_pair
        from orchestrator.commands.compare.table import run_comparison_sheet

        if len(runs) != 2:
            raise UsageError(
                f"compare takes two runs, not {len(runs)}",
                hint="for example `orchestrator compare last~1 last`",
            )
        before, after = runs
        if self.fail_slower is not None:
            self.refuse_beside("--fail-slower", _NOT_JUDGED)
            return self._judge(before, after, selected, self.fail_slower)
        pair = compare_run_pair(
            *(selected, before, after), metric=self.metric, across_hosts=self.across_hosts
        )
        self._draw(pair.comparison)
        self.show(run_comparison_sheet(pair, self.format))
        self._require_grade(pair.comparison, selected)
        return 0

    def _judge(
        self, before: str, after: str, selected: "SelectionRequest", threshold: float
    ) -> int:
        from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
        from orchestrator.commands.regress.output import show_verdicts

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

    def _draw(self, comparison: "ComparisonBy") -> None:
        from analysis.charts.comparisons import comparison_chart

        self.draw(lambda: comparison_chart(comparison))

    def _require_grade(self, comparison: "ComparisonBy", selected: "SelectionRequest") -> None:
        from orchestrator.commands.results.run_report import require_grade

        results = [row.result for row in comparison.rows]
        graded = {f"{one.cell_id} of {one.facts['run_id']}": one.grade for one in results}
        run = max((str(one.facts["run_id"]) for one in results), default="last")
        require_grade(graded.items(), self.require_grade, run=run, database=selected.database)
