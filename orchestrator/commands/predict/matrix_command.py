"""`predict matrix`: all cells of a matrix file, into a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import typer

from orchestrator.commands.options.common import MatrixArgument, Select, Set, note
from orchestrator.commands.predict.question import PredictionOptions
from orchestrator.commands.program.command import Command
from orchestrator.system.options import Force, Json, choice

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
        from orchestrator.commands.predict.matrix_words import matrix_lines, print_matrix
        from orchestrator.commands.predict.predicted_matrix import (
            MatrixQuestion,
            predict_matrix,
            require_matrix_output,
            save_predictions,
        )
        from orchestrator.system.files import is_stdout

        path, output = self.database_file, self.output
        form = require_matrix_output(output, self.format_, force=self.force, database=path)
        targets = tuple(self.target or ("all",))
        question = CellsAsked(path, self.results, device=self.device, targets=targets)
        answer = predict_matrix(
            MatrixQuestion(self.matrix, question, self.set_ or (), self.select or ())
        )
        written = save_predictions(answer, form, output)
        if is_stdout(output):
            for line in matrix_lines(written):
                note(line)
        else:
            print_matrix(written, as_json=self.json)
