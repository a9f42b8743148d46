"""`predict show`: what a predictor rests on, and how good it is."""

from dataclasses import dataclass

from orchestrator.commands.options.common import DatabaseChoice
from orchestrator.commands.program.command import Command
from orchestrator.screen.sheet_output import SheetOutput


@dataclass(frozen=True, kw_only=True)
class ShowPredictor(SheetOutput, DatabaseChoice, Command):
    """Show what the predictor of a database rests on, and how good it is."""

    def execute(self) -> None:
        path = self.database_file
        self.require(path)
        from orchestrator.commands.predict.stored_predictor import look_into_predictor
        from orchestrator.commands.predict.words import predictor_chart, predictor_sheet

        report = look_into_predictor(path)
        self.draw(lambda: predictor_chart(report.manifest))
        self.show(predictor_sheet(report))
