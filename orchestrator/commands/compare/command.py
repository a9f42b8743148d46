"""`compare`: results side by side, by one property or run by run."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.sheet import with_sheet
from orchestrator.commands.options.verdict import RequireGrade, required_grade, threshold_share
from orchestrator.commands.program.completion import (
    complete_metric,
    complete_property,
    complete_side,
)
from orchestrator.commands.program.refusals import refuse_beside
from orchestrator.commands.results.filter_options import with_filters

if TYPE_CHECKING:
    from analysis.compare.compare import ComparisonBy
    from orchestrator.commands.results.selection import SelectionRequest
    from orchestrator.screen.sheet_output import SheetOutput
    from runner.contract.record import Grade

_OF_A_PROPERTY = ("by", "baseline", "run")
_NOT_JUDGED = ("across_hosts",)
"""Options of a comparison that no verdict takes."""


_Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="BASE RUN",
        help="Two runs to compare cell by cell, or snapshots, hosts and paths, named as `regress`"
        " names them; else --by.",
        show_default=False,
        autocompletion=complete_side,
    ),
]
_By = Annotated[
    str | None,
    typer.Option(
        metavar="PROPERTY",
        help="backend, runtime, precision, mode, model, family, hardware, batch_size,"
        " sequence_length, threads, workers or run.",
        autocompletion=complete_property,
    ),
]
_Metric = Annotated[
    str | None,
    typer.Option(
        metavar="M",
        help="latency, throughput, memory, p99, ttft, …, or a number column of a view."
        "  [default: latency; throughput by batch or sequence]",
        autocompletion=complete_metric,
    ),
]
_Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="VALUE",
        help="The value to compare with.  [default: cpu, torch, fp32, inference, 1, the first run,"
        " else the slowest]",
    ),
]
_AcrossHosts = Annotated[
    bool, typer.Option("--across-hosts", help="Compare results of different machines too.")
]
_FailSlower = Annotated[
    str | None,
    typer.Option(
        "--fail-slower",
        metavar="SHARE",
        help="Judge both runs as `regress` does, with its exit codes, e.g. 10%.",
    ),
]


@with_filters
@with_sheet
def compare(
    context: typer.Context,
    selected: "SelectionRequest",
    output: "SheetOutput",
    runs: _Runs = None,
    by: _By = None,
    metric: _Metric = None,
    baseline: _Baseline = None,
    across_hosts: _AcrossHosts = False,
    fail_slower: _FailSlower = None,
    require_grade: RequireGrade = None,
) -> int:
    """Compare results by one property, or two runs cell by cell."""
    from runner.contract.errors import UsageError

    output.require(selected.database)
    grade = required_grade(require_grade)
    if runs:
        refuse_beside(context, "two runs", _OF_A_PROPERTY)
        pair = _two(runs)
        if fail_slower is not None:
            refuse_beside(context, "--fail-slower", _NOT_JUDGED)
            share = threshold_share(fail_slower, "--fail-slower")
            return _judge(pair, selected, output, metric, share, grade)
        _compare_runs(pair, selected, output, metric, grade, across_hosts=across_hosts)
        return 0
    if by is None or fail_slower is not None:
        needed = "two runs" if fail_slower is not None else "a property or two runs"
        raise UsageError(
            f"compare{' --fail-slower' if fail_slower is not None else ''} needs {needed}",
            hint="for example `orchestrator compare --by backend`, or `orchestrator compare"
            " last~1 last`",
        )
    from analysis.charts.comparisons import comparison_chart
    from orchestrator.commands.compare.answer import ComparisonRequest, compare_results
    from orchestrator.commands.compare.table import comparison_sheet

    request = ComparisonRequest(selected, by, metric, baseline, across_hosts)
    comparison = compare_results(request)
    output.draw(lambda: comparison_chart(comparison))
    output.show(comparison_sheet(comparison, output.format))
    _require_grade(comparison, grade, selected)
    return 0


def _two(runs: list[str]) -> tuple[str, str]:
    from runner.contract.errors import UsageError

    if len(runs) != 2:
        raise UsageError(
            f"compare takes two runs, not {len(runs)}",
            hint="for example `orchestrator compare last~1 last`",
        )
    return runs[0], runs[1]


def _compare_runs(
    runs: tuple[str, str],
    selected: "SelectionRequest",
    output: "SheetOutput",
    metric: str | None,
    grade: "Grade | None",
    *,
    across_hosts: bool,
) -> None:
    from analysis.charts.comparisons import comparison_chart
    from orchestrator.commands.compare.answer import RunPairRequest, compare_run_pair
    from orchestrator.commands.compare.runs_table import run_comparison_sheet

    before, after = runs
    pair = compare_run_pair(RunPairRequest(selected, before, after, metric, across_hosts))
    output.draw(lambda: comparison_chart(pair.comparison))
    output.show(run_comparison_sheet(pair, output.format))
    _require_grade(pair.comparison, grade, selected)


def _judge(
    runs: tuple[str, str],
    selected: "SelectionRequest",
    output: "SheetOutput",
    metric: str | None,
    threshold: float,
    grade: "Grade | None",
) -> int:
    """Judge the second run as `regress` does; the exit code."""
    from orchestrator.commands.regress.answer import RegressionRequest, judge_regressions
    from orchestrator.commands.regress.output import RegressionOutput
    from orchestrator.screen.sheet import SHEET_SUFFIXES

    metrics = (metric,) if metric else ()
    request = RegressionRequest(
        *(selected, *runs), metrics=metrics, threshold=threshold, require_grade=grade
    )
    answer = judge_regressions(request)
    shown = RegressionOutput(
        *(output.form, output.path, output.chart),
        force=output.force,
        wide=output.wide,
        suffixes=SHEET_SUFFIXES,
    )
    shown.draw(answer)
    shown.show(answer)
    return answer.exit_code


def _require_grade(
    comparison: "ComparisonBy", grade: "Grade | None", selected: "SelectionRequest"
) -> None:
    """Insist that what was compared has no worse grade."""
    from orchestrator.commands.results.grades import require_grade

    results = [row.result for group in comparison.groups for row in group.rows]
    graded = {f"{one.cell_id} of {one.facts['run_id']}": one.grade for one in results}
    run = max((str(one.facts["run_id"]) for one in results), default="last")
    require_grade(graded.items(), grade, run=run, database=selected.database)
