"""An exporter's error becomes one line that still says why."""

import pytest

from runner.contract.graph import fixed_shape
from runner.contract.models import AxisRange, catalogue, find
from runner.correctness.reference import fixed_cell
from runner.export.export_once import _LONGEST, cell_of_other_sizes, error_summary, job_shapes
from runner.inputs import synthesise
from tests.support.jobs import a_job, fake_cell


def chained(first: Exception, last: Exception) -> Exception:
    try:
        try:
            raise first
        except Exception as cause:
            raise last from cause
    except Exception as error:
        return error


def test_the_first_line_without_colours_and_programs() -> None:
    error = RuntimeError("\n\x1b[96mno way\x1b[0m to export\n\ndef forward(self, x):\n")
    assert error_summary(error) == "RuntimeError: no way to export"


def test_what_led_to_it_is_told_too() -> None:
    error = chained(KeyError("gather"), ValueError("conversion failed"))
    assert error_summary(error) == "ValueError: conversion failed, caused by KeyError: 'gather'"


def test_a_cause_that_says_the_same_is_told_once() -> None:
    assert error_summary(chained(ValueError("no"), ValueError("no"))) == "ValueError: no"


def test_an_error_without_words_is_its_type() -> None:
    assert error_summary(MemoryError()) == "MemoryError"


def test_a_long_line_is_cut() -> None:
    assert len(error_summary(RuntimeError("x" * 10_000))) == _LONGEST


BERT = find("bert-tiny")
MICRO = [name for name in catalogue() if name.endswith("-micro")]


def test_the_shape_of_verification_is_one_of_them() -> None:
    job = a_job([fake_cell(1, sequence_length=16), fake_cell(8, sequence_length=64)], BERT)
    assert list(job_shapes(job)) == ["b2-s32", "b1-s16", "b8-s64"]


def test_each_shape_is_made_once() -> None:
    job = a_job([fake_cell(2, sequence_length=32), fake_cell(2, sequence_length=32)], BERT)
    assert list(job_shapes(job)) == ["b2-s32"]


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
def test_other_sizes_of_an_image_are_such_as_the_model_takes(
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
