"""Every combination is a cell, falls together with one, or is told about."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.errors import MatrixError
from orchestrator.expand import expand
from orchestrator.matrix import load_matrix
from tests.orchestrator.matrices import matrix_of


def ids(axes: dict[str, Any], **rest: Any) -> list[str]:
    return [cell.id for cell, _ in expand(matrix_of(axes, **rest)).cells]


def test_what_is_not_named_has_a_default() -> None:
    assert ids({"model": "bert-tiny"}) == ["cpu-bert-tiny-fp32-b1-s128-inference"]


def test_the_matrix_is_the_product_of_its_axes() -> None:
    assert ids({"model": ["gpt2", "bert-tiny"], "precision": ["fp32", "bf16"]}) == [
        "cpu-gpt2-fp32-b1-s128-inference",
        "cpu-gpt2-bf16-b1-s128-inference",
        "cpu-bert-tiny-fp32-b1-s128-inference",
        "cpu-bert-tiny-bf16-b1-s128-inference",
    ]


def test_a_sequence_length_collapses_where_a_model_takes_none_and_the_collapse_is_told() -> None:
    axes = {"model": ["vit-base"], "batch_size": [1, 2], "sequence_length": [64, 128, 256]}
    expansion = expand(matrix_of(axes))
    assert [cell.id for cell, _ in expansion.cells] == [
        "cpu-vit-base-fp32-b1-inference",
        "cpu-vit-base-fp32-b2-inference",
    ]
    assert all(cell.sequence_length is None for cell, _ in expansion.cells)
    assert expansion.notes == ("vit-base takes no sequence length: 6 combinations are 2 cells",)


def test_a_single_sequence_length_makes_nothing_fall_together() -> None:
    assert expand(matrix_of({"model": "vit-base", "sequence_length": 64})).notes == ()


def test_a_runtime_named_twice_in_other_words_is_one_cell_and_told() -> None:
    expansion = expand(matrix_of({"model": "gpt2", "runtime": ["default", "torch"]}))
    assert len(expansion.cells) == 1
    assert expansion.notes == ("gpt2: 2 combinations are 1 cell, because some name the same cell",)


def test_an_include_that_repeats_a_default_adds_no_second_cell() -> None:
    expansion = expand(matrix_of(include=[{"model": "gpt2"}, {"model": "gpt2", "batch_size": 1}]))
    assert len(expansion.cells) == 1
    assert len(expansion.notes) == 1


def test_include_may_set_an_axis_that_is_not_listed() -> None:
    axes = {"model": ["gpt2", "bert-tiny"]}
    include = [{"model": "gpt2", "sequence_length": 512}, {"backend": "cuda"}]
    assert ids(axes, include=include) == [
        "cuda-gpt2-fp32-b1-s512-inference",
        "cuda-bert-tiny-fp32-b1-s128-inference",
    ]


def test_an_include_of_its_own_must_name_a_model() -> None:
    matrix = matrix_of({"model": "gpt2", "batch_size": 1}, include=[{"batch_size": 2}])
    with pytest.raises(
        MatrixError, match=r"matrix\.yaml: the combination {batch_size: 2} names no"
    ):
        expand(matrix)


def test_an_exclude_that_fits_nothing_is_told() -> None:
    axes = {"model": "gpt2", "precision": ["fp32", "bf16"]}
    expansion = expand(matrix_of(axes, exclude=[{"precision": "int8"}, {"precision": "bf16"}]))
    assert len(expansion.cells) == 1
    assert expansion.notes == ("the exclude entry {precision: int8} fits no combination",)


def test_two_jobs_never_share_an_id(tmp_path: Path) -> None:
    entry = {"name": "onnxruntime-bert-tiny", "family": "embedding", "size": "tiny"}
    (tmp_path / "m.json").write_text(json.dumps([entry | {"modality": "text"}]))
    path = tmp_path / "matrix.yaml"
    path.write_text(
        "version: 1\naxes: {model: [bert-tiny, m.json], runtime: [torch, onnxruntime]}\n"
    )
    with pytest.raises(MatrixError, match="share the id cpu-onnxruntime-bert-tiny-fp32-inference"):
        expand(load_matrix(path))


_AXES: dict[str, list[Any]] = {
    "backend": ["cpu", "cuda", "fake"],
    "runtime": ["default", "torch", "openvino"],
    "precision": ["fp32", "int8"],
    "batch_size": [1, 2],
    "sequence_length": [8, 600],
    "mode": ["inference", "training"],
}


def _some(values: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True)


@given(
    _some(["bert-tiny", "vit-base", "gpt2"]),
    st.fixed_dictionaries({}, optional={axis: _some(values) for axis, values in _AXES.items()}),
)
def test_no_cell_twice_and_no_id_twice(models: list[str], axes: dict[str, Any]) -> None:
    axes["model"] = models
    cells = [cell for cell, _ in expand(matrix_of(axes)).cells]
    assert len(set(cells)) == len(cells) == len({cell.id for cell in cells})
    listed = {axis: set(values) for axis, values in axes.items()}
    for cell in cells:
        assert cell.model in listed["model"]
        assert cell.batch_size in listed.get("batch_size", {1})
        assert cell.sequence_length in {None, *listed.get("sequence_length", {128})}
