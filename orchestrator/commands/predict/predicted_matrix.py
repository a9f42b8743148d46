"""Predictions of all cells of a matrix file, as a table for other programs."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.predict.predictor import NoPrediction
from orchestrator.commands.predict.axes import PREDICTED_AXES
from orchestrator.commands.predict.cells import CellsAsked, PossibleCells
from orchestrator.commands.predict.cells_table import TRUST_COLUMNS, predicted_rows, value_columns
from orchestrator.commands.predict.questions import PredictedCells, predict_possible
from orchestrator.commands.predict.words import later_words, source_words
from orchestrator.commands.results.query import file_format
from orchestrator.matrix import load_matrix
from orchestrator.planning.expand import expand
from orchestrator.planning.selection import nothing_selected
from orchestrator.screen.lines import print_json, print_line
from orchestrator.system.files import require_free
from orchestrator.system.text import plural
from runner.contract.cell import Selector

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
