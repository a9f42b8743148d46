"""`predict train`: a predictor from what was measured."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.options.sheet import with_sheet
from orchestrator.system.files import RESULTS_FOLDER

if TYPE_CHECKING:
    from analysis.predict.manifest import Sources
    from orchestrator.screen.sheet_output import SheetOutput


class SourceChoice(StrEnum):
    """Whose results a predictor learns from."""

    ours = "ours"
    all = "all"


SourceOption = Annotated[
    SourceChoice,
    typer.Option(
        "--source",
        metavar=options.one_of(SourceChoice),
        help="all: imported results too, simulated ones never.",
    ),
]


@with_sheet
def train_command(
    output: "SheetOutput",
    source: SourceOption = SourceChoice.ours,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
) -> None:
    """Train a predictor from the results of a database, and put it beside it."""
    path = options.database_in(results, database)
    output.require(path)
    sources: Sources = "all" if source is SourceChoice.all else "ours"
    from orchestrator.commands.predict.training import train_predictor
    from orchestrator.commands.predict.words import predictor_chart, trained_sheet

    trained = train_predictor(path, sources, options.note, results)
    output.draw(lambda: predictor_chart(trained.manifest))
    output.show(trained_sheet(trained))
