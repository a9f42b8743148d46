"""Models that see and read, taken apart: what the parts give together is what the whole gives."""

import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runner.agreement import TOLERANCES, compare
from runner.backends import onnxruntime, openvino
from runner.backends.base import Query, Session
from runner.cell import Job, Precision
from runner.errors import Unsupported
from runner.export.content import Files
from runner.export.forward import EXPORT
from runner.export.graphs import export_graphs
from runner.export.remedies import Remedy, whole, whole_or_in_parts
from runner.export.samples import Sample, samples
from runner.export.torch_onnx import Subject
from runner.fixed_input import fixed_cell
from runner.graph import Graph, Part, find_graph
from runner.models import ModelSpec, find
from tests.fakes import FakeClock, KeptProgress
from tests.jobs import a_job
from tests.tiny_models import torch_cell

pytestmark = pytest.mark.torch

MODELS = ("llava-next-micro", "llava-onevision-micro", "qwen2-vl-micro", "qwen3-vl-micro")
PARTS: tuple[Part, ...] = ("vision", "embed", "language")

Write = Callable[[Subject, Remedy, Path], Files]
Graphs = Callable[[ModelSpec], Path]


def not_whole(subject: Subject, remedy: Remedy, folder: Path) -> Files:
    """Let every way fail that leaves the model whole."""
    if not remedy.parts:
        raise RuntimeError(f"cannot do {remedy.name}")
    return EXPORT.write(subject, remedy, folder)


def job_of(model: ModelSpec, **changes: Any) -> Job:
    """One cell of the size of verification; the graph has the model's name."""
    cell = torch_cell(model, **{"runtime": "onnxruntime", **changes})
    fixed = fixed_cell(a_job([cell], model)).model_copy(update={"new_tokens": None})
    return a_job([fixed], model).model_copy(update={"graph": model.name, "purpose": "verify"})


def export(job: Job, write: Write, graphs: Path) -> None:
    how = replace(EXPORT, write=write)
    export_graphs(job, how, graphs / job.model.name, KeptProgress(), FakeClock())


def graph_of(job: Job, graphs: Path) -> tuple[Graph, Path]:
    return find_graph(job, job.cells[0], graphs)


def assert_agrees(
    session: Session, query: Query, sample: Sample, precision: Precision = "fp32"
) -> None:
    """The outputs are torch's, the device is proven, and the row says how the graph was made."""
    found = compare(session.arrays(query()), sample.outputs, None, precision)
    assert found["correct"], found["correct_reason"]
    assert session.prove(query)[0] == "proven"
    assert str(session.columns["graph_remedy"]).endswith("parts: vision tower, language model")


@pytest.fixture(scope="module")
def taken_apart(tmp_path_factory: pytest.TempPathFactory) -> Graphs:
    """The folder of a model's graph, made when a test first needs it."""
    folder = tmp_path_factory.mktemp("graphs")

    def graphs(model: ModelSpec) -> Path:
        if not (folder / model.name).exists():
            export(job_of(model), not_whole, folder)
        return folder

    return graphs


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_taken_apart_at_last_and_the_graph_says_why(
    name: str, taken_apart: Graphs
) -> None:
    model = find(name)
    graph, _ = graph_of(job_of(model), taken_apart(model))
    told = [(each.remedy, each.failure) for each in graph.attempts]
    failed = [(way.name, f"RuntimeError: cannot do {way.name}") for way in whole(model)]
    assert told == [*failed, (whole_or_in_parts(model)[-1].name, None)]


@pytest.mark.parametrize("name", MODELS)
def test_three_parts_hand_on_what_they_make(name: str, taken_apart: Graphs) -> None:
    model = find(name)
    graph, folder = graph_of(job_of(model), taken_apart(model))
    assert list(graph.parts) == list(PARTS)
    assert graph.parts["vision"].inputs == ("pixel_values",)
    assert graph.parts["embed"].inputs == ("input_ids", "image_features")
    assert graph.parts["language"].inputs[:2] == ("inputs_embeds", "attention_mask")
    assert graph.difference_relative < TOLERANCES["fp32"]
    assert [path.name for path in folder.glob("*.data")] == ["vision.onnx.data"]


def test_features_for_the_first_layers_go_to_the_language_model(taken_apart: Graphs) -> None:
    model = find("qwen3-vl-micro")
    graph, _ = graph_of(job_of(model), taken_apart(model))
    deeper = ("deepstack_features.0", "deepstack_features.1")
    assert graph.parts["vision"].outputs == ("image_features", *deeper)
    assert graph.parts["embed"].outputs == ("inputs_embeds", "image_places")
    assert graph.parts["language"].inputs[2:] == ("image_places", *deeper)


def test_other_models_hand_on_nothing_more(taken_apart: Graphs) -> None:
    model = find("qwen2-vl-micro")
    graph, _ = graph_of(job_of(model), taken_apart(model))
    assert graph.parts["vision"].outputs == ("image_features",)
    assert graph.parts["embed"].outputs == ("inputs_embeds",)
    assert graph.parts["language"].outputs == ("logits",)


@pytest.mark.parametrize("name", MODELS)
def test_onnxruntime_executes_every_part(name: str, taken_apart: Graphs) -> None:
    model = find(name)
    job = job_of(model)
    (sample,) = samples(job, job.cells)
    with closing(onnxruntime.open_session(job, 1, taken_apart(model))) as session:
        query = session.bind(job.cells[0], sample.inputs)
        assert_agrees(session, query, sample)
        assert len(query.sessions) == len(PARTS)


@pytest.mark.parametrize("name", MODELS)
def test_openvino_executes_every_part(name: str, taken_apart: Graphs) -> None:
    model = find(name)
    job = job_of(model, backend="openvino", runtime="openvino")
    (sample,) = samples(job, job.cells)
    with closing(openvino.open_session(job, 1, taken_apart(model))) as session:
        query = session.bind(job.cells[0], sample.inputs)
        assert_agrees(session, query, sample)
        assert len(query.compiled) == len(PARTS)


def test_the_htp_executes_every_part(taken_apart: Graphs) -> None:
    model = find("qwen2-vl-micro")
    job = job_of(model, backend="qnn", precision="fp16")
    (sample,) = samples(job, job.cells)
    with closing(onnxruntime.open_session(job, 1, taken_apart(model))) as session:
        query = session.bind(job.cells[0], sample.inputs)
        assert_agrees(session, query, sample, "fp16")
        assert len(query.sessions) == len(PARTS)


def exported_before(graphs: Path, model: ModelSpec) -> Write:
    """Writes the files that are there already."""
    _, plain = graph_of(job_of(model), graphs)

    def copy(subject: Subject, remedy: Remedy, folder: Path) -> Files:
        del subject, remedy
        shutil.copytree(plain, folder, dirs_exist_ok=True)
        return {part: folder / f"{part}.onnx" for part in PARTS}

    return copy


def test_int8_is_made_of_every_part(taken_apart: Graphs, tmp_path: Path) -> None:
    model = find("qwen2-vl-micro")
    job = job_of(model, precision="int8")
    export(job, exported_before(taken_apart(model), model), tmp_path)
    graph, _ = graph_of(job, tmp_path)
    assert list(graph.parts) == list(PARTS)
    assert TOLERANCES["fp32"] < graph.difference_relative < TOLERANCES["int8"]


def test_int8_for_the_htp_is_refused(taken_apart: Graphs, tmp_path: Path) -> None:
    model = find("qwen2-vl-micro")
    job = job_of(model, backend="qnn", precision="int8")
    export(job, exported_before(taken_apart(model), model), tmp_path)
    with pytest.raises(Unsupported, match="calibration for graphs of one part alone"):
        graph_of(job, tmp_path)
