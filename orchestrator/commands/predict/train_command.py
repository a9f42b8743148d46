"""`predict train`: a predictor from what was measured."""

from dataclasses import dataclass
from typing import Annotated, Literal

from orchestrator.commands.options.common import DatabaseChoice, note
from orchestrator.commands.program.command import Command
from orchestrator.screen.sheet_output import SheetOutput
from orchestrator.system.options import choice

SourceChoice = Literal["ours", "all"]
SourceOption = Annotated[
    SourceChoice,
    choice(SourceChoice, "--source", help="all: imported results too, simulated ones never."),
]


@dataclass(frozen=True, kw_only=True)
class TrainCommand(SheetOutput, DatabaseChoice, Command):
    """Train a predictor from the results of a database, and put it beside it."""

    source: SourceOption = "ours"

    def execute(self) -> None:
        path = self.database_file
        self.require(path)
        from orchestrator.commands.predict.training import train_predictor
        from orchestrator.commands.predict.words import predictor_chart, trained_sheet

        trained = train_predictor(path, self.source, note, self.results)
        self.draw(lambda: predictor_chart(trained.manifest))
        self.show(trained_sheet(trained))
