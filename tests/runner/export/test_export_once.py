"""Shapes of a job's graphs, sizes of the check, and summaries of errors."""

import pytest

from runner.contract.graph import fixed_shape
from runner.contract.models import catalogue, find
from runner.correctness.reference import fixed_cell
from runner.export.export_once import cell_of_other_sizes, job_shapes
from runner.inputs import synthesise
from tests.support.jobs import a_job, fake_cell

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


@pytest.mark.parametrize("name", MICRO)
def test_every_model_takes_what_it_is_checked_with(name: str) -> None:
    model = find(name)
    length = 16 if model.takes_sequence else None
    cell = fixed_cell(a_job([fake_cell(sequence_length=length)], model))
    other = cell_of_other_sizes(model, cell)
    assert fixed_shape(other) != fixed_shape(cell)
    assert synthesise(model, other, 0).keys() == synthesise(model, cell, 0).keys()
