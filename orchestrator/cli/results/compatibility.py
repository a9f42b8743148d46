"""`compatibility`: which model works how well on which backend."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli import options
from orchestrator.cli.filter_options import with_filters
from orchestrator.cli.sheet_options import with_sheet

if TYPE_CHECKING:
    from orchestrator.app.results.selection import SelectionRequest
    from orchestrator.render.terminal.sheet_output import SheetOutput


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
    """Show how well each model works on each backend. Reasons come with what helps."""
    from orchestrator.app.results.compatibility import report_compatibility
    from orchestrator.render.results.compatibility import compatibility_sheet

    output.require(selected.database)
    report = report_compatibility(selected)
    output.draw(report.chart)
    output.show(compatibility_sheet(report, output.format, by_family=by is RowChoice.family))
