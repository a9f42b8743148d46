"""`compatibility`: which model works how well on which backend."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.sheet import with_sheet
from orchestrator.commands.results.filter_options import with_filters

if TYPE_CHECKING:
    from orchestrator.commands.results.selection import SelectionRequest
    from orchestrator.screen.sheet_output import SheetOutput


class RowChoice(StrEnum):
    """The meaning of a row."""

    model = "model"
    family = "family"


_By = Annotated[
    RowChoice,
    typer.Option("--by", metavar=options.one_of(RowChoice), help="A row for each of these."),
]


@with_filters
@with_sheet
def compatibility(
    selected: "SelectionRequest", output: "SheetOutput", by: _By = RowChoice.model
) -> None:
    """Show how well each model works on each backend. Reasons come with what helps.

    By family, with the best backend, int8's memory and scaling of each.
    """
    from orchestrator.commands.compatibility.answer import report_compatibility
    from orchestrator.commands.compatibility.table import compatibility_sheet

    output.require(selected.database)
    report = report_compatibility(selected, by_family=by is RowChoice.family)
    output.draw(report.chart)
    output.show(compatibility_sheet(report, output.format))
