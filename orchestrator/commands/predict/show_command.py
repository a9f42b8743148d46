"""`predict show`: what a predictor rests on, and how good it is."""

from typing import TYPE_CHECKING

from orchestrator.commands.options import common as options
from orchestrator.commands.options.sheet import with_sheet
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.screen.sheet_output import SheetOutput


@with_sheet
def show_predictor(
    output: "SheetOutput",
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
) -> None:
    """Show what the predictor of a database rests on, and how good it is."""
    path = options.database_in(results, database)
    output.require(path)
    from orchestrator.commands.predict.stored_predictor import look_into_predictor
    from orchestrator.commands.predict.words import predictor_chart, predictor_sheet

    report = look_into_predictor(path)
    output.draw(lambda: predictor_chart(report.manifest))
    output.show(predictor_sheet(report))
