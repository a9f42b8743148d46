"""`predict`: cells that were not measured."""

from typing import TYPE_CHECKING

from orchestrator.commands.options import common as options
from orchestrator.commands.options.sheet import with_sheet
from orchestrator.commands.predict.question_options import with_question

if TYPE_CHECKING:
    from orchestrator.commands.predict.cells import CellsAsked
    from orchestrator.screen.sheet_output import SheetOutput


@with_question
@with_sheet
def ask_predictor(question: "CellsAsked", output: "SheetOutput") -> None:
    """Predict cells: the options name them, as those of `bench` do. `predict` alone does this."""
    output.require(question.database)
    from orchestrator.commands.predict.cells_table import cells_sheet
    from orchestrator.commands.predict.questions import predict_cells

    answer = predict_cells(question, options.note)
    output.draw(answer.chart)
    output.show(cells_sheet(answer, output.format))
