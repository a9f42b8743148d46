"""`predict evaluate`: how well a database's own results are predicted from each other."""

from dataclasses import dataclass
from typing import Annotated

import typer

from orchestrator.commands.options.common import DatabaseChoice, note
from orchestrator.commands.predict.train_command import SourceOption
from orchestrator.commands.program.command import Command
from orchestrator.screen.sheet_output import SheetOutput
from orchestrator.system.text import split_list
from runner.contract.errors import UsageError, refuse_unknown


def _target_names(texts: list[str] | None) -> list[str]:
    """The targets that the option names."""
    from analysis.predict.examples.placements import PREDICTION_TARGETS

    names = split_list(texts or ())
    for name in names:
        if name not in PREDICTION_TARGETS:
            raise UsageError(f"--target: {refuse_unknown(name, list(PREDICTION_TARGETS))}")
    return names


@dataclass(frozen=True, kw_only=True)
class EvaluateCommand(SheetOutput, DatabaseChoice, Command):
    """Hide results in turn, predict them from the others, and compare with simple methods."""

    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Only latency, throughput, memory or energy.  [default: all that were measured]",
            callback=_target_names,
        ),
    ] = None
    source: SourceOption = "ours"
    every_fold: Annotated[
        bool,
        typer.Option(
            "--every-fold", help="Hide every fold of large tables too, which takes much longer."
        ),
    ] = False

    def execute(self) -> None:
        """Show the errors of the predictions."""
        path = self.database_file
        self.require(path)
        from analysis.predict.examples.placements import PREDICTION_TARGETS
        from orchestrator.commands.predict.evaluation import evaluate_predictions, evaluation_sheet

        names = self.target or [*PREDICTION_TARGETS]
        report = evaluate_predictions(
            path, self.source, names, note, self.results, every_fold=self.every_fold
        )
        self.draw(report.chart)
        self.show(evaluation_sheet(report))
