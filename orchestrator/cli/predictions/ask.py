"""`predict`: cells that were not measured."""

from typing import TYPE_CHECKING

from orchestrator.cli import options
from orchestrator.cli.predictions.question_options import with_question
from orchestrator.cli.sheet_options import with_sheet

if TYPE_CHECKING:
    from orchestrator.app.predictions.cells import CellsAsked
    from orchestrator.render.terminal.sheet_output import SheetOutput


@with_question
@with_sheet
def ask_predictor(question: "CellsAsked", output: "SheetOutput") -> None:
    """Predict cells: the options name them, as those of `bench` do. `predict` alone does this."""
    output.require(question.database)
    from orchestrator.app.predictions.questions import predict_cells
    from orchestrator.render.predictions.cells import cells_sheet

    answer = predict_cells(question, options.note)
    output.draw(answer.chart)
    output.show(cells_sheet(answer, output.format))
