"""`trend`: a metric over time, series by series."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options.sheet import with_sheet
from orchestrator.commands.program.completion import complete_metric
from orchestrator.commands.results.filter_options import with_filters

if TYPE_CHECKING:
    from orchestrator.commands.results.selection import SelectionRequest
    from orchestrator.screen.sheet_output import SheetOutput


@with_filters
@with_sheet
def trend(
    selected: "SelectionRequest",
    output: "SheetOutput",
    glob: Annotated[
        str | None,
        typer.Argument(metavar="GLOB", help="Only cells whose id holds this.", show_default=False),
    ] = None,
    metric: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="latency, throughput, memory, p99, ttft, …, or a number column of a view.",
            autocompletion=complete_metric,
        ),
    ] = "latency",
    per_host: Annotated[
        bool, typer.Option("--per-host", help="Series of each machine's name apart.")
    ] = False,
) -> None:
    """Show a metric over time, and what changed where it did."""
    import sys

    from orchestrator.commands.trend.answer import report_trend
    from orchestrator.commands.trend.table import trend_sheet
    from orchestrator.screen.sparkline import has_blocks

    output.require(selected.database)
    answer = report_trend(selected.narrowed(glob), metric, per_host=per_host)
    output.draw(answer.chart)
    blocks = output.path is not None or has_blocks(sys.stdout)
    output.show(trend_sheet(answer.trends, output.format, blocks=blocks))
