"""The output of a command whose answer is a sheet: which format, which file, which chart."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator.screen.sheet import Sheet, require_output, sheet_format, show_sheet

if TYPE_CHECKING:
    from analysis.charts.chart import Chart


@dataclass(frozen=True)
class SheetOutput:
    """The format, the files and the width that options ask for."""

    form: str | None = None
    """The format; None for that of the file's name, else a table."""
    path: Path | None = None
    """The file; None for stdout."""
    chart: Path | None = None
    """The file to draw into; None if nothing is drawn."""
    force: bool = False
    """True if files may be replaced."""
    wide: bool = False
    """True if a table leaves no column out."""

    @property
    def format(self) -> str:
        """The format that comes out: the one asked for, or that of the file's name, or a table.

        Raises:
            UsageError: the file's name says none.
        """
        return sheet_format(self.form, self.path)

    def require(self, database: Path) -> None:
        """Refuse files that cannot be written, before any work is done for them.

        Raises:
            UsageError: a file exists, is the database or has a name that says no format.
        """
        require_output(self.form, self.path, force=self.force, database=database)
        if self.chart is not None:
            from orchestrator.screen.chart_files import require_chart

            require_chart("--chart", self.chart, force=self.force, database=database)

    def show(self, sheet: Sheet) -> None:
        """Print the sheet, or write it into the file.

        Raises:
            StoreError: the file cannot be written.
        """
        show_sheet(sheet, self.form, self.path, wide=self.wide)

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
