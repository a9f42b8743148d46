"""Real exports, one of each kind of model, run where they were not traced."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.screen.words.reasons import reason_text
from runner.backends import load_runtime
from runner.contract.axes import Backend, Precision
from runner.contract.cell import DEFAULT_RUNTIMES
from runner.contract.graph import Graph, GraphPart, Part, dynamic_format, find_graph, read_graph
from runner.contract.job import Job
from runner.contract.models import ModelSpec, find
from runner.correctness.compare_outputs import compare_outputs, method_of, tolerance_of
from runner.correctness.reference import fixed_cell
from runner.export.check import evaluator, largest_difference, samples
from runner.export.forward import EXPORT
from runner.export.graphs import Files, GraphExport, export_graphs
from runner.export.torch_exporters import (
    ExportSubject,
    Strategy,
    whole_or_split_strategies,
    whole_strategies,
)
from tests.support.exports import graph_cell, tiny_vision
from tests.support.fakes import FakeClock, KeptProgress
from tests.support.jobs import a_job
from tests.support.siblings import siblings
from tests.support.tiny_models import tiny_decoder, torch_cell
from tests.support.words import reason_words

pytestmark = pytest.mark.slow

ROUNDING = 1e-5
"""Relative difference that sums in another order may make of so small a model."""


def export(job: Job, folder: Path, how: GraphExport = EXPORT) -> None:
    export_graphs(job, how, folder, KeptProgress(), FakeClock())


def exported(model: ModelSpec, folder: Path, shape: str, **changes: object) -> Graph:
    cell = fixed_cell(a_job([torch_cell(model, runtime="onnxruntime", **changes)], model))
    export(a_job([cell], model), folder)
    return read_graph(folder / shape)


def test_a_graph_of_text_takes_any_batch_and_length(tmp_path: Path) -> None:
    model = tiny_decoder()
    graph = exported(model, tmp_path, "dynamic")
    assert graph.remedy == "dynamic shapes"
    assert graph.parts["forward"].outputs == ("logits",)
    assert graph.difference_relative < ROUNDING
    cells = [torch_cell(model, batch, sequence_length=7 * batch) for batch in (1, 5)]
    answer = evaluator(tmp_path / "dynamic" / "forward.onnx")
    assert largest_difference(answer, samples(a_job(cells, model), cells), "fp32") < ROUNDING


@pytest.mark.nightly
def test_models_that_crop_or_place_images_are_exported_at_each_shape(tmp_path: Path) -> None:
    graph = exported(find("llava-next-micro"), tmp_path / "crops", "b2-s32-i28")
    assert [attempt.remedy for attempt in graph.attempts] == ["dynamic shapes", "static shape"]
    assert "image_sizes" not in graph.parts["forward"].inputs
    assert graph.difference_relative < ROUNDING
    graph = exported(find("qwen2-vl-micro"), tmp_path / "places", "b2-s32-i56")
    assert graph.remedy == "static shape, image geometry as constants"
    assert graph.parts["forward"].inputs == ("input_ids", "attention_mask", "pixel_values")
    assert graph.difference_relative < ROUNDING


@pytest.mark.parametrize(("shape", "changes", "method", "most"), [
    ("dynamic", {"backend": "cuda", "precision": "fp16"}, "None", 1e-2),
    ("dynamic", {"precision": "int8"},
     f"dynamic, MatMul and Gemm: {dynamic_format().removesuffix('_dynamic')} weights per channel,"
     " uint8 activations, in 7 of 9 products",
     0.1),
    ("b2", {"backend": "qnn", "precision": "int8"},
     "QDQ: uint8 weights, uint16 activations, in 8 of 10 products, "
     "ranges between the extremes of 8 random queries, half padded, masks of -100", 0.1),
], ids=["fp16", "int8 for the cpu", "int8 for qnn"])  # fmt: skip
def test_other_numbers_are_as_exact_as_they_can_be(
    shape: str, changes: dict[str, str], method: str, most: float, tmp_path: Path
) -> None:
    graph = exported(tiny_vision(), tmp_path, shape, **changes)
    assert str(graph.method).startswith(method)
    assert ROUNDING < graph.difference_relative < most


def test_ranges_that_calibration_finds_hold_the_mask_of_padding(tmp_path: Path) -> None:
    changes = {"backend": "qnn", "precision": "int8"}
    graph = exported(find("bert-micro"), tmp_path, "b2-s32", **changes)
    assert graph.difference_relative < 0.03


@pytest.mark.parametrize("script", [False, True])
def test_the_further_remedies_work(script: bool, tmp_path: Path) -> None:
    def last_resort(subject: ExportSubject, strategy: Strategy, folder: Path) -> Files:
        if (strategy.eager, strategy.script) != (True, script):
            raise RuntimeError("out of order")
        return EXPORT.write(subject, strategy, folder)

    job = a_job([graph_cell()], tiny_vision())
    export(job, tmp_path, replace(EXPORT, write=last_resort))
    assert read_graph(tmp_path / "b2").difference_relative < ROUNDING


MODELS = ("llava-next-micro", "llava-onevision-micro", "qwen2-vl-micro", "qwen3-vl-micro")
KEPT = ("qwen2-vl-micro", "qwen3-vl-micro")
PARTS: tuple[Part, ...] = ("vision", "embed", "language")

Write = Callable[[ExportSubject, Strategy, Path], Files]
Graphs = Callable[[ModelSpec], Path]


def not_whole(subject: ExportSubject, strategy: Strategy, folder: Path) -> Files:
    """Let every way fail that leaves the model whole."""
    if not strategy.parts:
        raise RuntimeError(f"cannot do {strategy.name}")
    return EXPORT.write(subject, strategy, folder)


def job_of(model: ModelSpec, **changes: Any) -> Job:
    cell = torch_cell(model, **{"runtime": "onnxruntime", **changes})
    fixed = fixed_cell(a_job([cell], model)).model_copy(update={"new_tokens": None})
    return a_job([fixed], model).model_copy(update={"graph": model.name, "purpose": "verify"})


def export_parts(job: Job, write: Write, graphs: Path) -> None:
    how = replace(EXPORT, write=write)
    export_graphs(job, how, graphs / job.model.name, KeptProgress(), FakeClock())


def graph_of(job: Job, graphs: Path) -> tuple[Graph, Path]:
    return find_graph(job, job.cells[0], graphs)


@pytest.mark.parametrize(
    ("name", "backend", "precision"),
    [
        *(
            pytest.param(
                name, backend, "fp32", marks=() if name == KEPT[-1] else pytest.mark.nightly
            )
            for name in MODELS
            for backend in ("cpu", "openvino")
        ),
        pytest.param("qwen2-vl-micro", "qnn", "fp16", marks=pytest.mark.nightly),
    ],
)
def test_runtimes_execute_every_part_and_agree_with_torch(
    name: str, backend: Backend, precision: Precision, taken_apart: Graphs
) -> None:
    model, runtime = find(name), DEFAULT_RUNTIMES[backend]
    runtime = "onnxruntime" if backend == "cpu" else runtime
    job = job_of(model, backend=backend, runtime=runtime, precision=precision)
    full, padded = samples(job, job.cells)
    with closing(load_runtime(runtime).open_session(job, 1, taken_apart(model))) as session:
        for sample in (padded, full):
            query = session.bind(job.cells[0], sample.inputs)
            ours, method = session.arrays(query()), method_of(job.cells[0], {})
            result = compare_outputs(ours, sample.outputs, None, precision, None, method)
            assert result["correct"], reason_words(result, "correct")
        assert session.prove(query)[0] == "proven"
        executed: Any = query
        parts = executed.compiled if runtime == "openvino" else executed.sessions
        assert len(parts) == len(PARTS)
        assert str(session.columns["graph_remedy"]).endswith("parts: vision tower, language model")


@pytest.fixture(scope="module")
def taken_apart(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    """The folder of a model's graph, made when a test first needs it."""
    folder = tmp_path_factory.mktemp("graphs")

    def graphs(model: ModelSpec) -> Path:
        if not (folder / model.name).exists():
            export_parts(job_of(model), not_whole, folder)
        return folder

    return graphs


@pytest.mark.parametrize("name", siblings(MODELS, keep=KEPT))
def test_a_model_is_taken_apart_at_last_with_the_reason(name: str, taken_apart: Graphs) -> None:
    model = find(name)
    graph, _ = graph_of(job_of(model), taken_apart(model))
    reported = [
        (item.remedy, item.failure and reason_text(item.failure)) for item in graph.attempts
    ]
    failed = [(way.name, f"RuntimeError: cannot do {way.name}") for way in whole_strategies(model)]
    assert reported == [*failed, (whole_or_split_strategies(model)[-1].name, None)]


@pytest.mark.parametrize("name", siblings(MODELS, keep=KEPT))
def test_three_parts_hand_on_what_they_make(name: str, taken_apart: Graphs) -> None:
    model = find(name)
    graph, folder = graph_of(job_of(model), taken_apart(model))
    assert list(graph.parts) == list(PARTS)
    assert graph.parts["vision"].inputs == ("pixel_values",)
    assert graph.parts["embed"].inputs == ("input_ids", "image_features")
    assert graph.parts["language"].inputs[:2] == ("inputs_embeds", "attention_mask")
    assert graph.difference_relative < tolerance_of("fp32", None).relative
    assert [path.name for path in folder.glob("*.data")] == ["vision.onnx.data"]


def test_features_for_the_first_layers_go_to_the_language_model_if_there_are_any(
    taken_apart: Graphs,
) -> None:
    def parts(name: str) -> dict[Part, GraphPart]:
        model = find(name)
        return graph_of(job_of(model), taken_apart(model))[0].parts

    deep, deeper = parts("qwen3-vl-micro"), ("deepstack_features.0", "deepstack_features.1")
    assert deep["vision"].outputs == ("image_features", *deeper)
    assert deep["embed"].outputs == ("inputs_embeds", "image_places")
    assert deep["language"].inputs[2:] == ("image_places", *deeper)
    plain = [part.outputs for part in parts("qwen2-vl-micro").values()]
    assert plain == [("image_features",), ("inputs_embeds",), ("logits",)]


def exported_before(graphs: Path, model: ModelSpec) -> Write:
    """Writes the files that are there already."""
    _, plain = graph_of(job_of(model), graphs)

    def copy(subject: ExportSubject, strategy: Strategy, folder: Path) -> Files:
        del subject, strategy
        shutil.copytree(plain, folder, dirs_exist_ok=True)
        return {part: folder / f"{part}.onnx" for part in PARTS}

    return copy


def test_int8_is_made_of_every_part(taken_apart: Graphs, tmp_path: Path) -> None:
    model = find("qwen2-vl-micro")
    job = job_of(model, precision="int8")
    export_parts(job, exported_before(taken_apart(model), model), tmp_path)
    graph, _ = graph_of(job, tmp_path)
    assert list(graph.parts) == list(PARTS)
    assert (
        tolerance_of("fp32", None).relative
        < graph.difference_relative
        < tolerance_of("int8", None).relative
    )
