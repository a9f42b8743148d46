"""Shapes of a job's graphs, sizes of the check, and summaries of errors."""

import pytest

from runner.contract.graph import fixed_shape
from runner.contract.models import AxisRange, catalogue, find
from runner.correctness.reference import fixed_cell
from runner.export.export_once import _LONGEST, cell_of_other_sizes, error_summary, job_shapes
from runner.inputs import synthesise
from tests.support.jobs import a_job, fake_cell
from tests.support.words import words_of


def chained(first: Exception, last: Exception) -> Exception:
    try:
        try:
            raise first
        except Exception as cause:
            raise last from cause
    except Exception as error:
        return error


@pytest.mark.parametrize(("error", "summary"), [
    (RuntimeError("\n\x1b[96mno way\x1b[0m to export\n\ndef forward(self, x):\n"),
     "RuntimeError: no way to export"),
    (chained(KeyError("gather"), ValueError("conversion failed")),
     "ValueError: conversion failed, caused by KeyError: 'gather'"),
    (chained(ValueError("no"), ValueError("no")), "ValueError: no"),
    (MemoryError(), "MemoryError"),
    (RuntimeError("x" * 10_000), f"RuntimeError: {'x' * _LONGEST}"),
], ids=["first line", "with its cause", "the same cause", "no message", "long"])  # fmt: skip
def test_an_error_becomes_one_line_that_still_says_why(error: Exception, summary: str) -> None:
    assert words_of(error_summary(error)) == summary


BERT = find("bert-tiny")
MICRO = [name for name in catalogue() if name.endswith("-micro")]


@pytest.mark.parametrize(
    ("sizes", "shapes"),
    [([(1, 16), (8, 64)], ["b2-s32", "b1-s16", "b8-s64"]), ([(2, 32), (2, 32)], ["b2-s32"])],
)
def test_each_shape_is_made_once_and_that_of_verification_first(
    sizes: list[tuple[int, int]], shapes: list[str]
) -> None:
    cells = [fake_cell(batch, sequence_length=length) for batch, length in sizes]
    assert list(job_shapes(a_job(cells, BERT))) == shapes


@pytest.mark.parametrize(("length", "other"), [(32, 27), (5, 6), (1, 2)])
def test_elsewhere_has_another_batch_and_length(length: int, other: int) -> None:
    cell = cell_of_other_sizes(BERT, fake_cell(2, sequence_length=length))
    assert (cell.batch_size, cell.sequence_length) == (3, other)


@pytest.mark.parametrize(
    ("allowed", "value", "other"),
    [
        (AxisRange(default=64, least=32, multiple_of=32), 64, 32),
        (AxisRange(default=64, least=64, multiple_of=32), None, 96),
        (AxisRange(default=64, least=64, most=64), 64, 64),
    ],
)
def test_other_sizes_of_an_image_are_allowed_ones(
    allowed: AxisRange, value: int | None, other: int
) -> None:
    model = BERT.model_copy(update={"image_size": allowed})
    assert cell_of_other_sizes(model, fake_cell(image_size=value)).image_size == other


@pytest.mark.parametrize("name", MICRO)
def test_every_model_takes_what_it_is_checked_with(name: str) -> None:
    model = find(name)
    length = 16 if model.takes_sequence else None
    cell = fixed_cell(a_job([fake_cell(sequence_length=length)], model))
    other = cell_of_other_sizes(model, cell)
    assert fixed_shape(other) != fixed_shape(cell)
    assert synthesise(model, other, 0).keys() == synthesise(model, cell, 0).keys()
