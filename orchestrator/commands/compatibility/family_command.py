"""`family`: each family of models in a row."""

from typing import TYPE_CHECKING

from orchestrator.commands.options.sheet import with_sheet
from orchestrator.commands.results.filter_options import with_filters

if TYPE_CHECKING:
    from orchestrator.commands.results.selection import SelectionRequest
    from orchestrator.screen.sheet_output import SheetOutput


@with_filters
@with_sheet
def family(selected: "SelectionRequest", output: "SheetOutput") -> None:
    """Summarise families: best backend, int8's memory, scaling."""
    from orchestrator.commands.compatibility.families_answer import report_families
    from orchestrator.commands.compatibility.families_table import family_sheet

    output.require(selected.database)
    report = report_families(selected)
    output.draw(report.chart)
    output.show(family_sheet(report))
