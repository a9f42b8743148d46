"""`trend`: a metric over time, series by series."""

import sys
from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.verdict import PerHost
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.completion import complete_metric
from orchestrator.commands.results.selected import ResultSelection
from orchestrator.screen.sheet_output import SheetOutput


@dataclass(frozen=True, kw_only=True)
class TrendCommand(SheetOutput, ResultSelection, Command):
    """Show a metric over time, and what changed where it did."""

    glob: Annotated[
        str | None,
        typer.Argument(metavar="GLOB", help="Only cells whose id holds this.", show_default=False),
    ] = None
    metric: Annotated[
        str,
        typer.Option(
            metavar="M",
            help="latency, throughput, memory, p99, ttft, …, or a number column of a view.",
            autocompletion=complete_metric,
        ),
    ] = "latency"
    per_host: PerHost = False

    def execute(self) -> None:
        """Show the trends."""
        from orchestrator.commands.trend.answer import report_trend
        from orchestrator.commands.trend.table import trend_sheet
        from orchestrator.screen.sparkline import has_blocks

        selected = self.selected.narrowed(self.glob)
        self.require(selected.database)
        answer = report_trend(selected, self.metric, per_host=self.per_host)
        self.draw(answer.chart)
        blocks = self.output is not None or has_blocks(sys.stdout)
        self.show(trend_sheet(answer.trends, self.format, blocks=blocks))
