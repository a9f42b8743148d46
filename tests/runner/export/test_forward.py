"""Real exports, one of each kind of model, run where they were not traced."""

from dataclasses import replace
from pathlib import Path

import pytest

from runner.cell import Job
from runner.export.content import Export, Files
from runner.export.forward import EXPORT
from runner.export.graphs import export_graphs
from runner.export.onnx_check import answering, difference
from runner.export.remedies import Remedy
from runner.export.samples import samples
from runner.export.torch_onnx import Subject
from runner.fixed_input import fixed_cell
from runner.graph import Graph, read_graph
from runner.models import ModelSpec, find
from tests.fakes import FakeClock, KeptProgress
from tests.jobs import a_job
from tests.runner.export.exports import graph_cell, tiny_vision
from tests.tiny_models import tiny_encoder_decoder, torch_cell

pytestmark = pytest.mark.torch

ROUNDING = 1e-5
"""Relative difference that sums in another order may make of so small a model."""


def export(job: Job, folder: Path, how: Export = EXPORT) -> None:
    export_graphs(job, how, folder, KeptProgress(), FakeClock())


def exported(model: ModelSpec, folder: Path, shape: str, **changes: object) -> Graph:
    """The graph of that shape, after an export for one cell of the size of verification."""
    cell = fixed_cell(a_job([torch_cell(model, runtime="onnxruntime", **changes)], model))
    export(a_job([cell], model), folder)
    return read_graph(folder / shape)


def one_layer(model: ModelSpec) -> ModelSpec:
    """T5 whose encoder and decoder have one layer each."""
    return model.model_copy(update={"config": {**model.config, "num_layers": 1}})


def test_a_graph_of_text_takes_any_batch_and_length(tmp_path: Path) -> None:
    model = one_layer(tiny_encoder_decoder())
    graph = exported(model, tmp_path, "dynamic")
    assert graph.remedy == "dynamic shapes"
    assert graph.parts["forward"].outputs == ("logits", "encoder_last_hidden_state")
    assert graph.difference_relative < ROUNDING
    cells = [torch_cell(model, batch, sequence_length=7 * batch) for batch in (1, 5)]
    answer = answering(tmp_path / "dynamic" / "forward.onnx")
    assert difference(answer, samples(a_job(cells, model), cells), "fp32") < ROUNDING


def test_a_model_that_crops_images_is_exported_at_each_shape(tmp_path: Path) -> None:
    graph = exported(find("llava-next-micro"), tmp_path, "b2-s32-i28")
    assert [attempt.remedy for attempt in graph.attempts] == ["dynamic shapes", "static shape"]
    assert "image_sizes" not in graph.parts["forward"].inputs
    assert graph.difference_relative < ROUNDING


def test_where_images_lie_becomes_constant(tmp_path: Path) -> None:
    graph = exported(find("qwen2-vl-micro"), tmp_path, "b2-s32-i56")
    assert graph.remedy == "static shape, image geometry as constants"
    assert graph.parts["forward"].inputs == ("input_ids", "attention_mask", "pixel_values")
    assert graph.difference_relative < ROUNDING


def test_halves_are_as_exact_as_halves_can_be(tmp_path: Path) -> None:
    graph = exported(tiny_vision(), tmp_path, "dynamic", backend="cuda", precision="fp16")
    assert graph.numbers == "fp16"
    assert ROUNDING < graph.difference_relative < 1e-2


def test_int8_for_the_cpu_is_dynamic(tmp_path: Path) -> None:
    graph = exported(tiny_vision(), tmp_path, "dynamic", precision="int8")
    assert graph.method == (
        "dynamic, MatMul and Gemm: int8 weights per channel, uint8 activations, in 7 of 9 products"
    )
    assert ROUNDING < graph.difference_relative < 0.1


def test_int8_for_qnn_has_ranges_and_one_shape(tmp_path: Path) -> None:
    graph = exported(tiny_vision(), tmp_path, "b2", backend="qnn", precision="int8")
    assert str(graph.method).startswith(
        "QDQ: uint8 weights, uint16 activations, in 8 of 10 products, "
        "ranges between the extremes of 8 random queries, masks of -100"
    )
    assert ROUNDING < graph.difference_relative < 0.1


@pytest.mark.parametrize("script", [False, True])
def test_the_further_remedies_work(script: bool, tmp_path: Path) -> None:
    def last_resort(subject: Subject, remedy: Remedy, folder: Path) -> Files:
        if (remedy.eager, remedy.script) != (True, script):
            raise RuntimeError("out of order")
        return EXPORT.write(subject, remedy, folder)

    job = a_job([graph_cell()], tiny_vision())
    export(job, tmp_path, replace(EXPORT, write=last_resort))
    assert read_graph(tmp_path / "b2").difference_relative < ROUNDING


def test_other_weights_are_noticed(tmp_path: Path) -> None:
    def of_another_seed(subject: Subject, remedy: Remedy, folder: Path) -> Files:
        if not remedy.dynamic:
            raise RuntimeError("once is enough")
        return EXPORT.write(replace(subject, seed=subject.seed + 1), remedy, folder)

    export(a_job([graph_cell()], tiny_vision()), tmp_path, replace(EXPORT, write=of_another_seed))
    assert [path.name for path in tmp_path.iterdir()] == ["b2.failed"]
    first = (tmp_path / "b2.failed").read_text().splitlines()[0]
    assert first.startswith("dynamic shapes: WrongExport: on fresh inputs, the outputs differ")
