"""The output of a command whose answer is a sheet: which format, which file, which chart."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from orchestrator.screen.sheet import Sheet, require_output, sheet_format, show_sheet
from orchestrator.system.files import output_file, require_free, require_no_stream
from orchestrator.system.options import Force, Json, Output, Wide, asked_format, format_choice
from runner.contract.errors import UsageError

if TYPE_CHECKING:
    from analysis.charts.chart import Chart

ChartFile = Annotated[
    Path | None, typer.Option("--chart", metavar="FILE", help="Draw it: a .png, .svg or .html.")
]
_Format = Literal["table", "markdown", "csv", "json", "html"]
_DRAWINGS = {".png": "png_of", ".svg": "svg_of", ".html": "chart_page"}
"""Functions of `analysis.charts.drawing`, by the end of the file's name."""


@dataclass(frozen=True, kw_only=True)
class SheetOutput:
    """The options of such a command."""

    format_: Annotated[_Format | None, format_choice(_Format)] = None
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
        """The format that comes out: the one asked for, or that of the file's name, or a table."""
        return sheet_format(self.form, self.output)

    def require(self, database: Path) -> None:
        """Refuse files that cannot be written, before any work is done for them."""
        require_output(self.form, self.output, force=self.force, database=database)
        if self.chart is not None:
            require_chart("--chart", self.chart, force=self.force, database=database)

    def show(self, sheet: Sheet) -> None:
        show_sheet(sheet, self.form, self.output, wide=self.wide)

    def draw(self, chart: "Callable[[], Chart | None]") -> None:
        """Draw what was asked for, as `draw_chart` does."""
        draw_chart(self.chart, chart)


def draw_chart(path: Path | None, chart: "Callable[[], Chart | None]") -> None:
    """Draw into a file as `save_chart` does, if one was asked for and there is what to draw."""
    drawn = None if path is None else chart()
    if path is not None and drawn is not None:
        save_chart(drawn, path)


def save_chart(chart: "Chart", path: Path) -> None:
    """Write a chart into a file, whole or not at all, in the format of the file's name.

    Raises:
        UsageError: the name says no format, or the format needs an extra that is missing.
        StoreError: the file cannot be written.
    """
    from analysis.charts import drawing

    content = getattr(drawing, _drawing("a chart", path))(chart)
    with output_file(path) as file:
        file.write(content)


def require_chart(option: str, path: Path, *, force: bool, database: Path) -> None:
    """Refuse a chart that cannot be written, before any work is done for it.

    Raises:
        UsageError: the name says no format, the file exists, or is a stream.
    """
    _drawing(option, path)
    require_no_stream(option, path)
    require_free(option, path, force=force, database=database)


def _drawing(option: str, path: Path) -> str:
    if path.suffix.lower() not in _DRAWINGS:
        raise UsageError(
            f"{option} {path}: its name says no format of charts",
            hint=f"names of charts end with {', '.join(_DRAWINGS)}",
        )
    return _DRAWINGS[path.suffix.lower()]
