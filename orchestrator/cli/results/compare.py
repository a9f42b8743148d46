"""`compare`: results side by side, by one property or run by run."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.completion import complete_metric, complete_property, complete_run
from orchestrator.cli.filter_options import with_filters
from orchestrator.cli.sheet_options import with_sheet

if TYPE_CHECKING:
    from orchestrator.app.results.selecting import SelectionRequest
    from orchestrator.render.terminal.sheet_output import SheetOutput

_OF_A_PROPERTY = ("by", "baseline", "run")


_Runs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN_A RUN_B",
        help="Two runs to compare cell by cell, one may be `last`; else --by.",
        show_default=False,
        autocompletion=complete_run,
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
) -> None:
    """Compare results by one property, or two runs cell by cell."""
    from runner.contract.errors import UsageError

    output.require(selected.database)
    if runs:
        options.refuse_beside(context, "two runs", _OF_A_PROPERTY)
        _compare_runs(runs, selected, output, metric, across_hosts=across_hosts)
        return
    if by is None:
        raise UsageError(
            "compare needs a property or two runs",
            hint="for example `orchestrator compare --by backend`, or `orchestrator compare"
            " RUN_A last`",
        )
    from analysis.charts.comparisons import comparison_chart
    from orchestrator.app.results.comparing import ComparisonRequest, compare_results
    from orchestrator.render.results.comparison import comparison_sheet

    request = ComparisonRequest(selected, by, metric, baseline, across_hosts)
    comparison = compare_results(request)
    output.draw(lambda: comparison_chart(comparison))
    output.show(comparison_sheet(comparison, output.format))


def _compare_runs(
    runs: list[str],
    selected: "SelectionRequest",
    output: "SheetOutput",
    metric: str | None,
    *,
    across_hosts: bool,
) -> None:
    from analysis.charts.comparisons import comparison_chart
    from orchestrator.app.results.comparing import RunPairRequest, compare_run_pair
    from orchestrator.render.results.run_comparison import run_comparison_sheet
    from runner.contract.errors import UsageError

    if len(runs) != 2:
        raise UsageError(
            f"compare takes two runs, not {len(runs)}",
            hint="for example `orchestrator compare RUN_A last`",
        )
    before, after = runs
    pair = compare_run_pair(RunPairRequest(selected, before, after, metric, across_hosts))
    output.draw(lambda: comparison_chart(pair.comparison))
    output.show(run_comparison_sheet(pair, output.format))
