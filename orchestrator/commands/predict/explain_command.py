"""`predict explain`: what drives a prediction."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.sheet import with_sheet
from orchestrator.commands.predict.question_options import with_question

if TYPE_CHECKING:
    from orchestrator.commands.predict.cells import CellsAsked
    from orchestrator.screen.sheet_output import SheetOutput

_Cells = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="CELL",
        help="Ids of cells, e.g. cpu-bert-tiny-fp32-b8-s128-inference; else options name them.",
        show_default=False,
    ),
]


@with_question
@with_sheet
def explain_prediction(question: "CellsAsked", output: "SheetOutput", cells: _Cells = None) -> None:
    """Explain what drives a prediction, as factors whose product it is."""
    output.require(question.database)
    from orchestrator.commands.predict.explanations import explain_cells, explanation_sheet

    answer = explain_cells(question, cells or (), options.note)
    output.draw(answer.chart)
    output.show(explanation_sheet(answer, output.format))
