"""`predict matrix`: all cells of a matrix file, into a file."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from orchestrator.commands.options import common as options
from orchestrator.commands.predict.question_options import DeviceName, Targets, target_names
from orchestrator.system.files import RESULTS_FOLDER


class PredictionFormat(StrEnum):
    """Formats of files of predictions."""

    parquet = "parquet"
    csv = "csv"
    json = "json"


_Format = Annotated[
    PredictionFormat | None,
    typer.Option(
        "--format",
        metavar=options.one_of(PredictionFormat),
        help="[default: what FILE's name says]",
    ),
]
_Output = Annotated[
    Path,
    typer.Option(
        "--output", metavar="FILE", help="Write it there, whole or not at all; - for stdout."
    ),
]


def matrix_command(
    matrix: options.MatrixArgument,
    output: _Output,
    format_: _Format = None,
    device: DeviceName = None,
    target: Targets = None,
    select: options.Select = None,
    set_: options.Set = None,
    force: options.Force = False,
    results: options.Results = RESULTS_FOLDER,
    database: options.Database = None,
    json: options.Json = False,
) -> None:
    """Predict every cell of a matrix file, and write them into a file."""
    path = options.database_in(results, database)
    from orchestrator.commands.predict.cells import CellsAsked
    from orchestrator.commands.predict.predicted_matrix import (
        matrix_lines,
        predict_matrix,
        print_matrix,
        require_matrix_output,
        save_predictions,
    )
    from orchestrator.system.files import is_stdout

    form = require_matrix_output(output, format_ and format_.value, force=force, database=path)
    question = CellsAsked(path, results, device=device, targets=target_names(target) or ("all",))
    answer = predict_matrix(matrix, question, set_ or (), select or ())
    written = save_predictions(answer, form, output)
    if is_stdout(output):
        for line in matrix_lines(written):
            options.note(line)
    else:
        print_matrix(written, as_json=json)
