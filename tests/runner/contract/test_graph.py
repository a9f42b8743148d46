"""Where prepared graphs lie, and what there may be to say about them."""

from pathlib import Path
from typing import Any

import pytest

from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import (
    GRAPH_FILE,
    Graph,
    GraphPart,
    dynamic_format,
    find_graph,
    fixed_shape,
    number_format,
)
from runner.contract.host import multiplies_signed_bytes
from tests.support.jobs import a_job, fake_cell
from tests.support.words import raises_words

VERSIONS = {"torch": "2.13.0", "onnx": "1.23.2"}
JOB = a_job().model_copy(update={"graph": "key"})
CELL = fake_cell(2, sequence_length=16)


def a_graph(graphs: Path, shape: str = "dynamic") -> Graph:
    """A graph of one part, whose files hold a few bytes."""
    folder = graphs / "key" / shape
    folder.mkdir(parents=True)
    (folder / "forward.onnx").write_bytes(b"nodes")
    (folder / "forward.onnx.data").write_bytes(b"weights")
    part = {"file": "forward.onnx", "sha256": "0", "size_bytes": 12, "inputs": [], "outputs": []}
    graph = Graph(
        model="bert-tiny",
        content="forward",
        numbers="fp32",
        shape=shape,
        parts={"forward": GraphPart.model_validate(part)},
        attempts=(
            {"remedy": "dynamic shapes", "failure": {"code": "no_labels"}},  # type: ignore[arg-type]
            {"remedy": "static shape", "failure": None},  # type: ignore[arg-type]
        ),
        difference_relative=1e-7,
        parameters=3,
        versions=VERSIONS,
        export_s=1.0,
    )
    (folder / GRAPH_FILE).write_text(graph.model_dump_json())
    return graph


@pytest.mark.parametrize(
    ("backend", "runtime", "precision", "numbers"),
    [
        ("cpu", "onnxruntime", "fp32", "fp32"),
        ("cpu", "onnxruntime", "int8", dynamic_format()),
        ("qnn", "onnxruntime", "int8", "int8_qdq"),
        ("qnn", "onnxruntime", "fp16", "fp32"),
        ("cuda", "onnxruntime", "fp16", "fp16"),
        ("openvino", "openvino", "bf16", "fp32"),
        ("openvino", "openvino", "int8", "fp32"),
    ],
)
def test_runtimes_get_numbers_they_cannot_make(
    backend: Any, runtime: Any, precision: Any, numbers: str
) -> None:
    cell = fake_cell(backend=backend, runtime=runtime, precision=precision)
    assert number_format(cell) == numbers


@pytest.mark.parametrize(
    ("machine", "flags", "exact"),
    [
        ("x86_64", ["avx2", "fma"], False),
        ("x86_64", ["avx2", "avx512f"], False),
        ("x86_64", ["avx2", "avx512f", "avx512_vnni"], True),
        ("AMD64", ["avx2", "avx_vnni"], True),
        ("x86_64", ["amx_int8"], True),
        ("aarch64", ["asimd"], True),
    ],
)
def test_processors_that_saturate_get_unsigned_weights(
    machine: str, flags: list[str], exact: bool
) -> None:
    assert multiplies_signed_bytes(flags, machine) is exact


@pytest.mark.parametrize(
    ("cell", "shape"),
    [
        (fake_cell(2, sequence_length=16), "b2-s16"),
        (fake_cell(2, sequence_length=16, new_tokens=8, mode="generation"), "b2-s16"),
        (fake_cell(1, sequence_length=None, image_size=224), "b1-i224"),
        (fake_cell(1, sequence_length=None, audio_seconds=5), "b1-a5"),
    ],
)
def test_a_fixed_shape_is_what_goes_in(cell: Cell, shape: str) -> None:
    assert fixed_shape(cell) == shape


def test_a_static_graph_is_found_for_its_own_shape_and_a_dynamic_one_for_any(
    tmp_path: Path,
) -> None:
    graph = a_graph(tmp_path, "b2-s16")
    assert find_graph(JOB, CELL, tmp_path) == (graph, tmp_path / "key" / "b2-s16")
    other = fake_cell(3, sequence_length=16)
    with raises_words(Unsupported, match="not exported"):
        find_graph(JOB, other, tmp_path)
    graph = a_graph(tmp_path)
    assert find_graph(JOB, other, tmp_path) == (graph, tmp_path / "key" / "dynamic")
    assert graph.remedy == "static shape"


def test_without_a_folder_or_a_name_there_is_none(tmp_path: Path) -> None:
    unnamed = JOB.model_copy(update={"graph": None})
    for job, graphs in ((JOB, None), (unnamed, tmp_path)):
        with raises_words(Unsupported, match="the launcher gave none"):
            find_graph(job, CELL, graphs)


@pytest.mark.parametrize("file", ["forward.onnx", "forward.onnx.data"])
def test_a_file_that_was_cut_short_is_not_used(tmp_path: Path, file: str) -> None:
    a_graph(tmp_path)
    (tmp_path / "key" / "dynamic" / file).write_bytes(b"x")
    with raises_words(Unsupported, match="is damaged"):
        find_graph(JOB, CELL, tmp_path)
