"""`predict explain`: what drives a prediction."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.common import note
from orchestrator.commands.predict.question import CellQuestion
from orchestrator.commands.program.command import Command
from orchestrator.screen.sheet_output import SheetOutput


@dataclass(frozen=True, kw_only=True)
class ExplainPrediction(SheetOutput, CellQuestion, Command):
    """Explain what drives a prediction, as factors whose product it is."""

    cells: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CELL",
            help="Ids of cells, e.g. cpu-bert-tiny-fp32-b8-s128-inference; else options name them.",
            show_default=False,
        ),
    ] = None

    def execute(self) -> None:
        """Show the factors."""
        question = self.cells_asked
        self.require(question.database)
        from orchestrator.commands.predict.explanation_words import explanation_sheet
        from orchestrator.commands.predict.explanations import explain_cells

        answer = explain_cells(question, self.cells or (), note)
        self.draw(answer.chart)
        self.show(explanation_sheet(answer, self.format))
