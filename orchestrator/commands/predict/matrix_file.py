"""Predictions for the cells of a matrix, as a file and its summary."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.predict.predictor import NoPrediction
from orchestrator.commands.predict.cells import CellsAsked, PossibleCells
from orchestrator.commands.predict.cells_table import TRUST_COLUMNS, predicted_rows, value_columns
from orchestrator.commands.predict.question import PREDICTED_AXES
from orchestrator.commands.predict.questions import PredictedCells, predict_possible
from orchestrator.commands.predict.words import later_words, source_words
from orchestrator.matrix import load_matrix
from orchestrator.planning.expand import expand, nothing_selected
from orchestrator.store.query.answer import Answer
from orchestrator.store.query.formats import save_answer
from orchestrator.system.selector import Selector
from orchestrator.system.text import plural

_BATCH_ROWS = 65_536
_NUMBERS = ("size", "count")
_MOST_REASONS = 3


def predict_matrix(
    path: Path, question: CellsAsked, overrides: Sequence[str], select: Sequence[str]
) -> PredictedCells:
    matrix, selector = load_matrix(path, overrides), Selector(select)
    expansion = expand(matrix)
    kept = tuple(entry for entry in expansion.cells if selector.keeps(entry[0]))
    if not kept:
        raise nothing_selected(expansion, selector)
    return predict_possible(question, lambda _: PossibleCells(kept, matrix.models))


def save_predictions(answer: PredictedCells, form: str, output: Path) -> None:
    """Write predictions into a file of this format, whole or not at all."""
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
    table = pa.Table.from_arrays(columns, schema=schema)
    save_answer(Answer(schema, iter(table.to_batches(_BATCH_ROWS))), form, output)


def matrix_summary(answer: PredictedCells, output: Path) -> dict[str, Any]:
    """The numbers of cells in a file of predictions, as JSON has them."""
    refused = Counter(
        next(one.reason for one in cell.answers.values() if isinstance(one, NoPrediction))
        for cell in answer.cells
        if not cell.predictions
    )
    return {
        "output": str(output),
        "cells": len(answer.cells),
        "predicted": len(answer.cells) - refused.total(),
        "extrapolated": sum(
            any(one.extrapolates for one in cell.predictions) for cell in answer.cells
        ),
        "refused": dict(refused.most_common()),
        "targets": answer.targets,
        "added_since": answer.predictor.added,
    }


def matrix_lines(answer: PredictedCells, summary: Mapping[str, Any]) -> Iterator[str]:
    """The same in words, and what the predictions rest on."""
    total, reasons = summary["cells"], summary["refused"]
    yield (
        f"{summary['output']}: {total:,} {plural(total, 'cell')}: {summary['predicted']:,}"
        f" predicted, {summary['extrapolated']:,} of them by extrapolation;"
        f" {sum(reasons.values()):,} refused"
    )
    for reason, count in [*reasons.items()][:_MOST_REASONS]:
        yield f"refused {count:,}: {reason}"
    more = len(reasons) - _MOST_REASONS
    if more > 0:
        yield f"… and {more} more {plural(more, 'reason')}, which the column `reason` has"
    yield f"rests on {source_words(answer.predictor.manifest.examples)}"
    yield from later_words(answer.predictor)
