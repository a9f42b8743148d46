"""The output of a command whose answer is a sheet: which format, which file, which chart."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.screen.sheet import Sheet, require_output, sheet_format, show_sheet
from orchestrator.system.options import Force, Json, Output, Wide, asked_format, choice

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

ChartFile = Annotated[
    Path | None, typer.Option("--chart", metavar="FILE", help="Draw it: a .png, .svg or .html.")
]
_Format = Literal["table", "markdown", "csv", "json", "html"]


@dataclass(frozen=True, kw_only=True)
class SheetOutput:
    """The options of such a command."""

    format_: Annotated[
        _Format | None,
        choice(_Format, "--format", help="[default: what FILE's name says, else table]"),
    ] = None
    output: Output = None
    chart: ChartFile = None
    force: Force = False
    wide: Wide = False
    json: Json = False

    @property
    def form(self) -> str | None:
        """The format that was asked for; None for that of the file's name, else a table."""
        return asked_format(self.format_, as_json=self.json)

    @property
    def format(self) -> str:
        """The format that comes out: the one asked for, or that of the file's name, or a table.

        Raises:
            UsageError: the file's name says none.
        """
        return sheet_format(self.form, self.output)

    def require(self, database: Path) -> None:
        """Refuse files that cannot be written, before any work is done for them.

        Raises:
            UsageError: a file exists, is the database or has a name that says no format.
        """
        require_output(self.form, self.output, force=self.force, database=database)
        if self.chart is not None:
            from orchestrator.screen.chart_files import require_chart

            require_chart("--chart", self.chart, force=self.force, database=database)

    def show(self, sheet: Sheet) -> None:
        """Print the sheet, or write it into the file.

        Raises:
            StoreError: the file cannot be written.
        """
        show_sheet(sheet, self.form, self.output, wide=self.wide)

    def draw(self, chart: Callable[[], "Chart | None"]) -> None:
        """Draw what was asked for; the chart is made only then.

        Raises:
            UsageError: the format needs an extra that is missing.
            StoreError: the file cannot be written.
        """
        draw_chart(self.chart, chart)


def draw_chart(path: Path | None, chart: Callable[[], "Chart | None"]) -> None:
    """Draw into a file, if one was asked for and there is something to draw.

    Raises:
        UsageError: the format needs an extra that is missing.
        StoreError: the file cannot be written.
    """
    if path is None:
        return
    from orchestrator.screen.chart_files import save_chart

    drawn = chart()
    if drawn is not None:
        save_chart(drawn, path)
