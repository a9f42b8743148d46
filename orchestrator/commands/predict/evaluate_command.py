"""`predict evaluate`: how well a database's own results are predicted from each other."""

from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.sheet import with_sheet
from orchestrator.commands.predict.train_command import SourceChoice, SourceOption
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from orchestrator.screen.sheet_output import SheetOutput


@with_sheet
def evaluate(
    output: "SheetOutput",
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Only latency, throughput, memory or energy.  [default: all that were measured]",
        ),
    ] = None,
    source: SourceOption = SourceChoice.ours,
    every_fold: Annotated[
        bool,
        typer.Option(
            "--every-fold", help="Hide every fold of large tables too, which takes much longer."
        ),
    ] = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
) -> None:
    """Hide results in turn, predict them from the others, and compare with simple methods."""
    from orchestrator.system.text import split_list

    path = options.database_in(results, database)
    output.require(path)
    names = _known_targets(split_list(target or ()))
    from orchestrator.commands.predict.evaluation import evaluate_predictions
    from orchestrator.commands.predict.evaluation_words import evaluation_sheet

    report = evaluate_predictions(
        path, source.value, names, options.note, results, every_fold=every_fold
    )
    output.draw(report.chart)
    output.show(evaluation_sheet(report))


def _known_targets(names: list[str]) -> list[str]:
    """The targets of these names, all of them without any.

    Raises:
        UsageError: there is no such target.
    """
    from analysis.predict.examples.targets import PREDICTION_TARGETS
    from orchestrator.system.problems import not_one_of
    from runner.contract.errors import UsageError

    for name in names:
        if name not in PREDICTION_TARGETS:
            raise UsageError(f"--target: {not_one_of(name, list(PREDICTION_TARGETS))}")
    return names or [*PREDICTION_TARGETS]
