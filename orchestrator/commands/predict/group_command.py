"""`predict`: what was not measured, from what was."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from analysis.predict.predictor import NoPrediction
from orchestrator.commands.options.common import DatabaseChoice, MatrixArgument, Select, Set, note
from orchestrator.commands.predict.axes import PREDICTED_AXES
from orchestrator.commands.predict.cells import CellsAsked, PossibleCells
from orchestrator.commands.predict.cells_table import TRUST_COLUMNS, predicted_rows, value_columns
from orchestrator.commands.predict.question import CellQuestion, PredictionOptions
from orchestrator.commands.predict.questions import PredictedCells, predict_possible
from orchestrator.commands.predict.train_command import SourceOption, TrainCommand
from orchestrator.commands.predict.words import later_words, source_words
from orchestrator.commands.program.command import Command
from orchestrator.commands.program.program import CommandGroup, Program
from orchestrator.commands.results.query import file_format
from orchestrator.matrix import load_matrix
from orchestrator.planning.expand import expand
from orchestrator.planning.selection import nothing_selected
from orchestrator.screen.lines import print_json, print_line
from orchestrator.screen.sheet_output import SheetOutput
from orchestrator.system.files import require_free
from orchestrator.system.options import Force, Json, choice
from orchestrator.system.text import plural, split_list
from runner.contract.cell import Selector
from runner.contract.errors import UsageError, refuse_unknown

if TYPE_CHECKING:
    import pyarrow as pa


_BATCH_ROWS = 65_536
_NUMBERS = ("size", "count")
_MOST_REASONS = 3


@dataclass(frozen=True)
class PredictedMatrix:
    """A matrix that was predicted, and what came of it."""

    answer: PredictedCells
    output: Path
    predicted: int
    """Cells of which something is predicted."""
    extrapolated: int
    """Those of them that lie outside of what was measured."""
    refused: Mapping[str, int]
    """By reason, cells of which nothing is predicted."""


def predict_matrix(
    path: Path, question: CellsAsked, overrides: Sequence[str] = (), select: Sequence[str] = ()
) -> PredictedCells:
    """Predict all cells of a matrix file, on the device and of the targets of a question."""
    matrix, selector = load_matrix(path, overrides), Selector(select)
    expansion = expand(matrix)
    kept = tuple(entry for entry in expansion.cells if selector.keeps(entry[0]))
    if not kept:
        raise nothing_selected(expansion, selector)
    return predict_possible(question, lambda _: PossibleCells(kept, matrix.models))


def require_matrix_output(output: Path, form: str | None, *, force: bool, database: Path) -> str:
    """The format of a file that may be written."""
    known = file_format(form, output)
    require_free("--output", output, force=force, database=database)
    return known


def save_predictions(answer: PredictedCells, form: str, output: Path) -> PredictedMatrix:
    """Write predictions into a file of this format, whole or not at all."""
    from orchestrator.store.query.answer import Answer
    from orchestrator.store.query.formats import save_answer

    table = _table(answer)
    save_answer(Answer(table.schema, iter(table.to_batches(_BATCH_ROWS))), form, output)
    refused = Counter(
        next(one.reason for one in cell.answers.values() if isinstance(one, NoPrediction))
        for cell in answer.cells
        if not cell.predictions
    )
    return PredictedMatrix(
        answer=answer,
        output=output,
        predicted=len(answer.cells) - refused.total(),
        extrapolated=sum(
            any(one.extrapolates for one in cell.predictions) for cell in answer.cells
        ),
        refused=dict(refused.most_common()),
    )


def _table(answer: PredictedCells) -> "pa.Table":
    import pyarrow as pa

    names = {
        axis.name: pa.int64() if axis.kind in _NUMBERS else pa.string() for axis in PREDICTED_AXES
    }
    values = [column for target in answer.targets for column in value_columns(target)]
    schema = pa.schema(
        [
            *names.items(),
            ("hardware", pa.string()),
            *((column, pa.float64()) for column in values),
            *zip(TRUST_COLUMNS, (pa.string(), pa.bool_(), pa.string()), strict=True),
        ]
    )
    rows = [*predicted_rows(answer.cells, answer.targets)]
    columns = [
        pa.array((row[name] for row in rows), schema.field(name).type, size=len(rows))
        for name in schema.names
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def print_matrix(written: PredictedMatrix, *, as_json: bool) -> None:
    """Print what was written, and how far it can be trusted."""
    if as_json:
        print_json(
            {
                "output": str(written.output),
                "cells": len(written.answer.cells),
                "predicted": written.predicted,
                "extrapolated": written.extrapolated,
                "refused": dict(written.refused),
                "targets": written.answer.targets,
                "added_since": written.answer.predictor.added,
            }
        )
        return
    for line in matrix_lines(written):
        print_line(line)


def matrix_lines(written: PredictedMatrix) -> Iterator[str]:
    """The same in words."""
    answer = written.answer
    total = len(answer.cells)
    refused = sum(written.refused.values())
    yield (
        f"{written.output}: {total:,} {plural(total, 'cell')}: {written.predicted:,} predicted,"
        f" {written.extrapolated:,} of them by extrapolation; {refused:,} refused"
    )
    for reason, count in [*written.refused.items()][:_MOST_REASONS]:
        yield f"refused {count:,}: {reason}"
    more = len(written.refused) - _MOST_REASONS
    if more > 0:
        yield f"… and {more} more {plural(more, 'reason')}, which the column `reason` has"
    yield f"rests on {source_words(answer.predictor.manifest.examples)}"
    yield from later_words(answer.predictor)


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


_Format = Literal["parquet", "csv", "json"]


@dataclass(frozen=True, kw_only=True)
class PredictMatrix(PredictionOptions, Command):
    """Predict every cell of a matrix file, and write them into a file."""

    matrix: MatrixArgument
    output: Annotated[
        Path,
        typer.Option(
            "--output", metavar="FILE", help="Write it there, whole or not at all; - for stdout."
        ),
    ]
    format_: Annotated[
        _Format | None, choice(_Format, "--format", help="[default: what FILE's name says]")
    ] = None
    select: Select = None
    set_: Set = None
    force: Force = False
    json: Json = False

    def execute(self) -> None:
        """Write the predictions."""
        from orchestrator.commands.predict.cells import CellsAsked
        from orchestrator.system.files import is_stdout

        path, output = self.database_file, self.output
        form = require_matrix_output(output, self.format_, force=self.force, database=path)
        targets = tuple(self.target or ("all",))
        question = CellsAsked(path, self.results, device=self.device, targets=targets)
        answer = predict_matrix(self.matrix, question, self.set_ or (), self.select or ())
        written = save_predictions(answer, form, output)
        if is_stdout(output):
            for line in matrix_lines(written):
                note(line)
        else:
            print_matrix(written, as_json=self.json)


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
        from orchestrator.commands.predict.explanations import explain_cells, explanation_sheet

        answer = explain_cells(question, self.cells or (), note)
        self.draw(answer.chart)
        self.show(explanation_sheet(answer, self.format))


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
