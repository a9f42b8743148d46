"""`predict`: what was not measured, from what was."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.commands.options.common import DatabaseChoice, MatrixArgument, Select, Set, note
from orchestrator.commands.predict.question import (
    ALL_TARGETS,
    CellQuestion,
    PredictionOptions,
    SourceOption,
    target_names,
)
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import CommandGroup, Program
from orchestrator.screen.sheet_output import SheetOutput
from orchestrator.system.options import Force, Json, choice


@dataclass(frozen=True, kw_only=True)
class TrainCommand(SheetOutput, DatabaseChoice, Command):
    """Train a predictor from the results of a database, and put it beside it."""

    source: SourceOption = "ours"

    def execute(self) -> None:
        path = self.database_file
        self.require(path)
        from orchestrator.commands.predict.training import train_predictor
        from orchestrator.commands.predict.words import predictor_chart, trained_sheet

        began = time.monotonic()
        predictor = train_predictor(path, self.source, note, self.results)
        seconds = time.monotonic() - began
        self.draw(lambda: predictor_chart(predictor.manifest))
        self.show(trained_sheet(predictor, seconds))


@dataclass(frozen=True, kw_only=True)
class EvaluateCommand(SheetOutput, DatabaseChoice, Command):
    """Hide results in turn, predict them from the others, and compare with simple methods."""

    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAMES",
            help="Only latency, throughput, memory or energy.  [default: all that were measured]",
            callback=lambda texts: target_names(texts),  # noqa: PLW0108 - typer counts parameters
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
        path = self.database_file
        self.require(path)
        from analysis.predict.examples.placements import PREDICTION_TARGETS
        from orchestrator.commands.predict.training import evaluate_predictions, evaluation_sheet

        names = self.target or [*PREDICTION_TARGETS]
        report = evaluate_predictions(
            path, self.source, names, note, self.results, every_fold=self.every_fold
        )
        self.draw(report.chart)
        self.show(evaluation_sheet(report))


_Format = Literal["parquet", "csv", "json"]


@dataclass(frozen=True, kw_only=True)
class PredictMatrix(PredictionOptions, Command):
    """Predict every cell of a matrix file, and write them into a file."""

    matrix: MatrixArgument
    output: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Write it there, whole or not at all; - for stdout."),
    ]
    format_: Annotated[
        _Format | None, choice(_Format, "--format", help="[default: what FILE's name says]")
    ] = None
    select: Select = None
    set_: Set = None
    force: Force = False
    json: Json = False

    def execute(self) -> None:
        from orchestrator.commands.predict.cells import CellsAsked
        from orchestrator.commands.predict.matrix_file import (
            matrix_lines,
            matrix_summary,
            predict_matrix,
            save_predictions,
        )
        from orchestrator.commands.results.query import file_format
        from orchestrator.screen.lines import print_json, print_line
        from orchestrator.system.files import is_stdout, require_free

        path, output = self.database_file, self.output
        form = file_format(self.format_, output)
        require_free("--output", output, force=self.force, database=path)
        targets = tuple(self.target or (ALL_TARGETS,))
        question = CellsAsked(path, self.results, device=self.device, targets=targets)
        answer = predict_matrix(self.matrix, question, self.set_ or (), self.select or ())
        save_predictions(answer, form, output)
        summary = matrix_summary(answer, output)
        if self.json and not is_stdout(output):
            print_json(summary)
            return
        say = note if is_stdout(output) else print_line
        for line in matrix_lines(answer, summary):
            say(line)


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
        question = self.cells_asked
        self.require(question.database)
        from orchestrator.commands.predict.explanations import explain_cells, explanation_sheet

        answer = explain_cells(question, self.cells or (), note)
        self.draw(answer.chart)
        self.show(explanation_sheet(answer, self.format))


@dataclass(frozen=True, kw_only=True)
class AskPredictor(SheetOutput, CellQuestion, Command):
    """Predict cells: the options name them, as those of `bench` do. `predict` alone does this."""

    def execute(self) -> None:
        question = self.cells_asked
        self.require(question.database)
        from orchestrator.commands.predict.cells_table import cells_sheet
        from orchestrator.commands.predict.questions import predict_cells

        answer = predict_cells(question, note)
        self.draw(answer.chart)
        self.show(cells_sheet(answer, self.format))


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


class PredictingGroup(CommandGroup):
    """A group that predicts cells if no command is named."""

    alone = "ask"


group = Program(
    help="Predict what was not measured from what was. `predict --model X` asks.",
    cls=PredictingGroup,
)
group.command(name="ask")(AskPredictor)
group.command(name="train")(TrainCommand)
group.command(name="evaluate")(EvaluateCommand)
group.command(name="show")(ShowPredictor)
group.command(name="matrix")(PredictMatrix)
group.command(name="explain")(ExplainPrediction)
