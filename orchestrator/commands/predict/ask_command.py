"""`predict`: cells that were not measured."""

from dataclasses import dataclass

from orchestrator.commands.options.common import note
from orchestrator.commands.predict.question import CellQuestion
from orchestrator.commands.program.command import Command
from orchestrator.screen.sheet_output import SheetOutput


@dataclass(frozen=True, kw_only=True)
class AskPredictor(SheetOutput, CellQuestion, Command):
    """Predict cells: the options name them, as those of `bench` do. `predict` alone does this."""

    def execute(self) -> None:
        """Show the predictions."""
        question = self.cells_asked
        self.require(question.database)
        from orchestrator.commands.predict.cells_table import cells_sheet
        from orchestrator.commands.predict.questions import predict_cells

        answer = predict_cells(question, note)
        self.draw(answer.chart)
        self.show(cells_sheet(answer, self.format))
