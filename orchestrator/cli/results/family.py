"""`family`: each family of models in a row."""

from typing import TYPE_CHECKING

from orchestrator.cli.filter_options import with_filters
from orchestrator.cli.sheet_options import with_sheet

if TYPE_CHECKING:
    from orchestrator.app.results.selection import SelectionRequest
    from orchestrator.render.terminal.sheet_output import SheetOutput


@with_filters
@with_sheet
def family(selected: "SelectionRequest", output: "SheetOutput") -> None:
    """Summarise families: best backend, int8's memory, scaling."""
    from orchestrator.app.results.families import report_families
    from orchestrator.render.results.families import family_sheet

    output.require(selected.database)
    report = report_families(selected)
    output.draw(report.chart)
    output.show(family_sheet(report, output.format))
