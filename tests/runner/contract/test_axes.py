"""An axis is one row: what names every axis follows the table, and few files name one by hand."""

import ast
import re
from pathlib import Path
from typing import get_args

import pytest

from orchestrator.matrix import matrix_json_schema
from orchestrator.store import Filters, StoredRecord
from orchestrator.store.schema.views import PERFORMANCE
from runner.contract.axes import (
    AXES,
    AXIS_NAMES,
    COUNT_AXES,
    NUMBER_AXES,
    SIZE_AXES,
    AxisName,
)
from runner.contract.cell import Cell
from runner.contract.record import Record
from runner.contract.synonyms import axis_words

ROOT = Path(__file__).parents[3]
NAMED_BY_HAND = {
    "runner/contract/axes.py",  # the row
    "runner/contract/cell.py",  # the field
    "runner/contract/record/identity.py",  # the column of records
    "orchestrator/store/query/records.py",  # the field of records that are read from a database
    "orchestrator/store/query/filters.py",  # the filter, where it is a size
    "analysis/results/row.py",  # the column of a run's results, where it is a size
    "orchestrator/store/health/checks/ranges.py",  # the check of a number
    "orchestrator/exchange/imports/measurement.py",  # what others' files say, where one does
}


def _names(path: Path, wanted: set[str]) -> set[str]:
    """Fields, keyword arguments and plain strings of a module; not what it reads of a cell.

    Empty for a module whose text lacks a name that is wanted.
    """
    text = path.read_text("utf-8")
    if path.suffix == ".sql":
        return set(re.findall(r"\w+", text))
    names: set[str] = set()
    if not all(name in text for name in wanted):
        return names
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Name(id=name) | ast.keyword(arg=str(name)):
                names.add(name)
            case ast.Constant(value=str(name)) if name.isidentifier():
                names.add(name)
    return names


def test_few_files_list_the_axes() -> None:
    listed = {"sequence_length", "image_size", "audio_seconds", "new_tokens"}
    folders = (ROOT / name for name in ("runner", "analysis", "orchestrator"))
    paths = [
        path for folder in folders for end in ("py", "sql") for path in folder.rglob(f"*.{end}")
    ]
    lists = {str(path.relative_to(ROOT)) for path in paths if listed <= _names(path, listed)}
    assert lists <= NAMED_BY_HAND
    assert len(NAMED_BY_HAND) <= 8


@pytest.mark.parametrize(
    ("fields", "axes"),
    [
        (get_args(AxisName), AXIS_NAMES),
        (Cell.model_fields, AXIS_NAMES),
        (matrix_json_schema()["$defs"]["Axes"]["properties"], AXIS_NAMES),
        (matrix_json_schema()["$defs"]["Entry"]["properties"], AXIS_NAMES),
    ],
)
def test_all_that_is_made_of_axes_has_their_order(
    fields: dict[str, object], axes: list[str]
) -> None:
    assert list(fields) == list(axes)


@pytest.mark.parametrize(
    ("fields", "axes"),
    [
        (Record.model_fields, AXIS_NAMES),
        (StoredRecord.model_fields, AXIS_NAMES),
        ([column.name for column in PERFORMANCE.columns], AXIS_NAMES),
        (Filters.__annotations__, (*SIZE_AXES, *COUNT_AXES)),
    ],
)
def test_records_views_and_filters_hold_every_axis(
    fields: dict[str, object], axes: list[str]
) -> None:
    assert set(axes) <= set(fields)


def test_a_row_says_what_each_kind_needs() -> None:
    for axis in AXES:
        assert bool(axis.choices) == (axis.kind == "choice")
        assert (axis.kind == "size") == (axis.name in SIZE_AXES)
        assert (axis.kind == "count") == (axis.name in COUNT_AXES)
        assert (axis.letter is not None) == (axis.name in (*SIZE_AXES, *COUNT_AXES))
        assert axis.default in (None, *axis.choices) or axis.name in NUMBER_AXES
    letters = [axis.letter for axis in AXES if axis.letter]
    assert len(set(letters)) == len(letters)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("batch_size", 1, "batch 1"),
        ("threads", 1, "1 thread"),
        ("threads", 2, "2 threads"),
        ("sequence_length", 128, "128 tokens"),
        ("audio_seconds", 1, "1 s of sound"),
        ("hardware", "a CPU", "a CPU"),
    ],
)
def test_values_have_words(name: str, value: object, words: str) -> None:
    assert axis_words(name, value) == words
