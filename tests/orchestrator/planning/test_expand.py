"""Every combination is a cell, falls together with one, or is told about."""

import json
import re
from collections import Counter
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.matrix import load_matrix
from orchestrator.planning.expand import expand
from runner.contract.cell import Cell
from runner.contract.errors import MatrixError
from runner.contract.models import find
from tests.support.matrices import matrix_of, matrix_with, sized_model
from tests.support.words import words_of


def ids(axes: dict[str, Any], **rest: Any) -> list[str]:
    return [cell.id for cell, _ in expand(matrix_of(axes, **rest)).cells]


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
    assert expansion.notes == (
        "vit-base: 6 combinations are 2 cells, because it takes no sequence_length",
    )


def test_images_and_sounds_have_the_models_own_size_unless_the_matrix_names_one() -> None:
    ((cell, _),) = expand(matrix_with(sized_model())).cells
    assert cell.id == "cpu-sized-fp32-b1-s128-i224-a5-inference"
    cells = expand(matrix_with(sized_model(), {"image_size": [56, 448], "audio_seconds": 1})).cells
    assert [cell.shape for cell, _ in cells] == ["b1-s128-i56-a1", "b1-s128-i448-a1"]


def test_a_size_that_a_model_does_not_take_is_a_cell_with_its_reason() -> None:
    ((cell, reason),) = expand(matrix_with(sized_model(), {"image_size": 450})).cells
    assert cell.image_size == 450
    assert words_of(reason) == "sized takes image_size of multiples of 28, not 450"


@pytest.mark.parametrize(
    ("changes", "mode", "shape"),
    [
        ({"max_sequence_length": 77}, "inference", "b1-s77"),
        ({"max_sequence_length": 77}, "generation", "b1-s45-n32"),
        ({"max_sequence_length": 77, "encoder_decoder": True}, "generation", "b1-s77-n32"),
        ({"encoder_decoder": True, "max_new_tokens": 20}, "generation", "b1-s128-n20"),
    ],
)
def test_what_is_not_named_is_no_more_than_the_model_takes(
    changes: dict[str, Any], mode: str, shape: str
) -> None:
    model = find("gpt2").model_copy(update=changes)
    ((cell, _),) = expand(matrix_with(model, {"mode": mode})).cells
    assert cell.shape == shape


def test_a_length_that_is_named_is_kept_however_long() -> None:
    model = find("gpt2").model_copy(update={"max_sequence_length": 77})
    ((cell, reason),) = expand(matrix_with(model, {"sequence_length": 128})).cells
    assert cell.sequence_length == 128
    assert words_of(reason) == "gpt2 takes at most 77 tokens, not 128"


def test_a_runtime_named_twice_in_other_words_is_one_cell_and_told() -> None:
    expansion = expand(matrix_of({"model": "gpt2", "runtime": ["default", "torch"]}))
    assert len(expansion.cells) == 1
    assert expansion.notes == ("gpt2: 2 combinations are 1 cell, because some name the same cell",)


@pytest.mark.parametrize(
    ("axes", "expected"),
    [
        (
            {"mode": ["inference", "generation"], "new_tokens": [8, 16]},
            ["b1-s128-inference", "b1-s128-n8-generation", "b1-s128-n16-generation"],
        ),
        (
            {"mode": ["training", "startup"], "scenario": ["single_stream", "offline", "server"]},
            ["b1-s128-training", "b1-s128-startup"],
        ),
        (
            {"scenario": "server", "target_qps": [0.5, "find_peak"], "slo_ms": [10, 2.5]},
            [
                "b1-s128-inference-server-q0.5",
                "b1-s128-inference-server-peak-slo10",
                "b1-s128-inference-server-peak-slo2.5",
            ],
        ),
        ({"target_qps": [1, 2], "slo_ms": [3, 4], "new_tokens": [5, 6]}, ["b1-s128-inference"]),
    ],
)
def test_a_cell_leaves_out_what_it_does_not_know(axes: dict[str, Any], expected: list[str]) -> None:
    assert ids({"model": "gpt2", **axes}) == [f"cpu-gpt2-fp32-{rest}" for rest in expected]


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
    "image_size": [56, 100],
    "audio_seconds": [2, 4],
    "new_tokens": [4, 8],
    "mode": ["inference", "generation", "training", "startup"],
    "scenario": ["single_stream", "offline", "server"],
    "target_qps": [50, 50.5, "find_peak"],
    "slo_ms": [10, 1234.5],
}


def _some(values: list[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True)


@given(
    _some(["bert-tiny", "vit-base", "gpt2"]),
    st.fixed_dictionaries({}, optional={axis: _some(values) for axis, values in _AXES.items()}),
)
def test_no_cell_twice_no_id_twice_and_every_combination_a_cell_or_told(
    models: list[str], axes: dict[str, Any]
) -> None:
    axes["model"] = models
    expansion = expand(matrix_of(axes))
    cells = [cell for cell, _ in expansion.cells]
    assert len(set(cells)) == len(cells) == len({cell.id for cell in cells})
    listed = {axis: set(values) for axis, values in axes.items()}
    for cell in cells:
        assert cell.model in listed["model"]
        assert cell.sequence_length in {None, *listed.get("sequence_length", {128})}
        assert (cell.sequence_length is None) == (cell.model == "vit-base")
        assert (cell.new_tokens is not None) == (cell.mode == "generation")
        assert cell.scenario == "single_stream" or cell.mode == "inference"
        assert (cell.batch_size == 1) if cell.scenario == "offline" else True
        assert (cell.slo_ms is not None) == cell.seeks_peak
        assert cell.target_qps is None or cell.scenario == "server"
    size = prod(len(values) for values in axes.values())
    told = [note for note in expansion.notes if " combinations are " in note]
    untold = [name for name in models if not any(note.startswith(f"{name}: ") for note in told)]
    counts = Counter(cell.model for cell in cells)
    assert all(counts[name] == size // len(models) for name in untold)
    assert len(told) + len(untold) == len(models)


def _read_from_its_end(cell_id: str) -> tuple[str, dict[str, Any]]:
    """The path and model of a cell, and what else its id tells, however odd the model's name."""
    match = re.fullmatch(
        r"(?P<stem>.+)-(?P<precision>fp32|bf16|fp16|int8)"
        r"(?:-b(?P<b>\d+))?(?:-s(?P<s>\d+))?(?:-i(?P<i>\d+))?(?:-a(?P<a>\d+))?(?:-n(?P<n>\d+))?"
        r"-(?P<mode>inference|generation|training|startup)"
        r"(?P<pattern>-offline|-server-q[\d.e+]+|-server-peak-slo[\d.e+]+)?",
        cell_id,
    )
    assert match
    return match["stem"], match.groupdict()


_ODD = st.lists(
    st.sampled_from(
        ["m", "fp32", "b1", "s8", "i56", "a2", "n4", "inference", "offline", "server", "q50"]
    ),
    min_size=1,
    max_size=9,
).map("-".join)
"""Names of models that look like parts of ids, none longer than names may be."""


@given(
    _ODD,
    st.sampled_from([("inference", "single_stream"), ("inference", "offline"), ("training", None)]),
    st.tuples(st.none() | st.just(8), st.none() | st.just(56), st.none() | st.just(2)),
    st.sampled_from(["fp32", "bf16"]),
)
def test_an_id_is_read_from_its_end_in_one_way(
    model: str, mode: tuple[Any, Any], sizes: tuple[int | None, ...], precision: Any
) -> None:
    length, side, seconds = sizes
    cell = Cell(
        model=model,
        backend="cpu",
        runtime="torch",
        precision=precision,
        batch_size=2,
        sequence_length=length,
        image_size=side,
        audio_seconds=seconds,
        mode=mode[0],
        scenario=mode[1] or "single_stream",
    )
    stem, told = _read_from_its_end(cell.id)
    assert stem == f"cpu-{model}"
    assert (told["precision"], told["mode"]) == (precision, mode[0])
    shown = tuple(None if size is None else str(size) for size in sizes)
    assert (told["s"], told["i"], told["a"]) == shown


def notes(axes: dict[str, Any], **rest: Any) -> list[str]:
    return list(expand(matrix_of({"model": "gpt2", **axes}, **rest)).notes)


@pytest.mark.parametrize(
    ("axes", "became"),
    [
        (
            {"mode": ["inference", "generation"], "new_tokens": [8, 16]},
            "4 combinations are 3 cells, because only generation has new_tokens",
        ),
        (
            {"scenario": "offline", "batch_size": [1, 2, 4]},
            "3 combinations are 1 cell, because offline finds its own batch_size",
        ),
        (
            {
                "mode": ["inference", "generation"],
                "scenario": ["offline", "server"],
                "batch_size": [1, 2],
                "new_tokens": [8, 16],
            },
            "16 combinations are 7 cells, because offline finds its own batch_size, "
            "only generation has new_tokens and only inference has a scenario",
        ),
    ],
)
def test_what_falls_together_is_told_with_the_axis_that_did_it(
    axes: dict[str, Any], became: str
) -> None:
    assert notes(axes) == [f"gpt2: {became}"]


@pytest.mark.parametrize(
    ("axes", "note"),
    [
        ({"new_tokens": 8}, "no cell knows new_tokens: that takes mode generation"),
        (
            {"image_size": 224},
            "no cell knows image_size: that takes a model for images of several sizes",
        ),
        (
            {"scenario": "server", "target_qps": 8, "slo_ms": 5},
            "no cell knows slo_ms: that takes scenario server and target_qps find_peak",
        ),
    ],
)
def test_an_axis_that_no_cell_knows_is_told(axes: dict[str, Any], note: str) -> None:
    assert notes(axes) == [note]
