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
    first_cell_with_graph,
    fixed_shape,
    graph_kind,
    number_format,
    read_graph,
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


def test_generation_alone_needs_a_cache() -> None:
    cells = (fake_cell(mode=mode) for mode in ("inference", "startup", "generation"))
    assert [graph_kind(cell) for cell in cells] == ["forward", "forward", "generation"]


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


def test_what_prevented_the_export_is_the_reason(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    (tmp_path / "key" / "dynamic.failed").write_text("other versions\n")
    with raises_words(Unsupported, match=r"^no prepared graph: other versions$"):
        find_graph(JOB, CELL, tmp_path)
    (tmp_path / "key" / "b2-s16.failed").write_text("static shape: no\n")
    with raises_words(Unsupported, match=r"^no prepared graph: static shape: no$"):
        find_graph(JOB, CELL, tmp_path)


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


def test_a_missing_file_or_an_odd_description_are_not_used(tmp_path: Path) -> None:
    a_graph(tmp_path)
    folder = tmp_path / "key" / "dynamic"
    (folder / "forward.onnx").unlink()
    with raises_words(Unsupported, match="dynamic cannot be read"):
        read_graph(folder)
    (folder / GRAPH_FILE).write_text("{}")
    with raises_words(Unsupported, match="dynamic cannot be read"):
        read_graph(folder)


def test_the_hash_of_a_graph_is_that_of_its_parts(tmp_path: Path) -> None:
    graph = a_graph(tmp_path)
    part = graph.parts["forward"].model_copy(update={"sha256": "1"})
    assert graph.sha256 != graph.model_copy(update={"parts": {"forward": part}}).sha256


def test_a_cell_without_a_graph_leaves_the_turn_to_the_next(tmp_path: Path) -> None:
    a_graph(tmp_path, fixed_shape(CELL))
    job = JOB.model_copy(update={"cells": (fake_cell(7, sequence_length=16), CELL)})
    assert first_cell_with_graph(job, tmp_path) == CELL


def test_where_no_cell_has_a_graph_the_first_ones_reason_counts(tmp_path: Path) -> None:
    (tmp_path / "key").mkdir()
    cells = tuple(fake_cell(batch, sequence_length=16) for batch in (7, 8))
    for cell in cells:
        failure = tmp_path / "key" / f"{fixed_shape(cell)}.failed"
        failure.write_text(f"no memory for {cell.batch_size}")
    job = JOB.model_copy(update={"cells": cells})
    with raises_words(Unsupported, match="no memory for 7"):
        first_cell_with_graph(job, tmp_path)
