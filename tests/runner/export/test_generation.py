"""Generating models: the calls by which they are traced, and real exports in two files."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx_ir
import onnxruntime
import pytest
import torch
from onnx import helper

from runner.backends.torch.model import fill_parameters, instantiate
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, GraphPart, Part, find_graph
from runner.contract.job import Job
from runner.contract.models import ModelSpec, find
from runner.export.check import Sample, WrongExport, samples
from runner.export.generation import (
    _AUTO,
    _FILES,
    EXPORT,
    ModelCall,
    add_next_tokens,
    decode_call,
    prefill_call,
    traced_inputs,
)
from runner.export.torch_exporters import ExportSubject, Strategy
from runner.inputs import Inputs, synthesise
from tests.support.onnx_graphs import FLOAT, model_of
from tests.support.prepared import PreparedGraphs
from tests.support.tiny_models import generating_job, tiny_decoder, tiny_encoder_decoder
from tests.support.words import raises_words


def test_the_older_exporter_is_not_tried(tmp_path: Path) -> None:
    subject = ExportSubject(tiny_decoder(), 0, torch.float32, {}, {}, ("logits",))
    with raises_words(Unsupported, match="writes no graphs that take caches"):
        EXPORT.write(subject, Strategy(script=True), tmp_path)
    assert list(tmp_path.iterdir()) == []


VARYING: Mapping[str, Any] = {
    "input_ids": {0: _AUTO, 1: _AUTO},
    "position_ids": {0: _AUTO, 1: _AUTO},
}


def inputs_of(model: ModelSpec) -> Inputs:
    return synthesise(model, generating_job(model).cells[0], seed=0)


def prefill(model: ModelSpec, shapes: Mapping[str, Any] | None = None) -> ModelCall:
    module = instantiate(model, torch.float32)
    fill_parameters(module, seed=0)
    given = traced_inputs(model, inputs_of(model))
    tensors = {name: torch.from_numpy(array) for name, array in given.items()}
    return prefill_call(model, module, tensors, shapes)


def test_a_decoder_is_asked_for_some_logits_and_gets_no_mask_nor_known_places() -> None:
    given = traced_inputs(tiny_decoder(), inputs_of(tiny_decoder()))
    assert set(given) == {"input_ids", "position_ids", "logits_to_keep"}
    assert given["logits_to_keep"].tolist() == list(range(1, 32))
    constant = find("qwen2-vl-micro")
    assert "position_ids" not in traced_inputs(constant, inputs_of(constant))
    inputs = inputs_of(tiny_encoder_decoder())
    assert traced_inputs(tiny_encoder_decoder(), inputs) is inputs


def test_without_shapes_only_the_logits_that_are_wanted_may_vary() -> None:
    shapes = prefill(tiny_decoder()).shapes
    assert shapes.pop("logits_to_keep") == {0: _AUTO}
    assert set(shapes.values()) == {None}


def test_a_decoder_behind_an_encoder_takes_any_number_of_tokens() -> None:
    assert prefill(tiny_encoder_decoder()).shapes["decoder_input_ids"] == {1: _AUTO}
    shapes = prefill(tiny_encoder_decoder(), {"decoder_input_ids": {0: _AUTO}}).shapes
    assert shapes["decoder_input_ids"] == {0: _AUTO, 1: _AUTO}


def test_sizes_of_images_are_constants_that_no_shape_can_vary() -> None:
    model = find("llava-next-micro")
    assert prefill(model).arguments["image_sizes"] == [(28, 28)] * 2
    with raises_words(Unsupported, match="neither they nor the batch can vary"):
        prefill(model, VARYING)


def test_a_step_takes_one_token_and_a_cache_of_any_batch_and_length() -> None:
    model = tiny_decoder()
    trace = decode_call(model, prefill(model, VARYING), inputs_of(model))
    assert trace.arguments["input_ids"].shape == (2, 1)
    assert trace.arguments["position_ids"].tolist() == [[32], [32]]
    assert trace.arguments["past_key_values"].get_seq_length() == 32
    assert trace.shapes["input_ids"] == trace.shapes["position_ids"] == {0: _AUTO}
    assert trace.shapes["past_key_values"] == [{0: _AUTO, 2: _AUTO}] * 2


def test_a_step_behind_an_encoder_takes_its_mask() -> None:
    model = tiny_encoder_decoder()
    trace = decode_call(model, prefill(model), inputs_of(model))
    assert np.array_equal(trace.arguments["attention_mask"], np.ones((2, 32)))
    assert trace.shapes["past_key_values"] == [{0: _AUTO, 2: _AUTO}] * 8
    assert "position_ids" not in trace.arguments


def test_the_graph_itself_gives_the_most_likely_token_of_each_position() -> None:
    shape = ("batch", "positions", 5)
    value, logits = (helper.make_tensor_value_info(name, FLOAT, shape) for name in ("x", "logits"))
    node = helper.make_node("Identity", ["x"], ["logits"])
    proto = model_of(helper.make_graph([node], "last", [value], [logits]))
    model = onnx_ir.from_proto(proto)
    add_next_tokens(model)
    session = onnxruntime.InferenceSession(onnx_ir.to_proto(model).SerializeToString())
    drawn = np.random.default_rng(0).standard_normal((3, 2, 5)).astype(np.float32)
    _, tokens = session.run(["logits", "next_tokens"], {"x": drawn})
    assert tokens.dtype == np.int64
    assert tokens.tolist() == drawn.argmax(axis=-1).tolist()


ROUNDING = 1e-5
"""Relative difference that sums in another order may make of so small a model."""
BYTES = 4
GIVEN = {"logits", "next_tokens"}


def exported(job: Job, prepared: PreparedGraphs) -> tuple[Graph, Path]:
    return find_graph(prepared.named(job), job.cells[0], prepared.folder)


def without_caches(part: GraphPart) -> tuple[set[str], set[str]]:
    """Inputs and outputs of a part, without caches."""
    taken = {name for name in part.inputs if not name.startswith("input.past_key_values.")}
    caches = ("past_key_values.", "output.past_key_values.")
    return taken, {name for name in part.outputs if not name.startswith(caches)}


def difference(folder: Path, sample: Sample, model: ModelSpec) -> float:
    return EXPORT.difference(model, files_in(folder), [sample], "fp32")


def files_in(folder: Path) -> dict[Part, Path]:
    return {part: folder / name for part, name in _FILES.items()}


def sample_of(model: ModelSpec, **changes: object) -> Sample:
    cell: Cell = generating_job(model, **changes).cells[0]
    (sample,) = samples(generating_job(model), [cell])
    return sample


@pytest.mark.slow
def test_a_decoder_becomes_two_dynamic_parts_that_share_weights(prepared: PreparedGraphs) -> None:
    graph, folder = exported(generating_job(tiny_decoder()), prepared)
    assert (graph.content, graph.shape, graph.remedy) == ("generation", "dynamic", "dynamic shapes")
    assert graph.difference_relative < ROUNDING
    prefill, decode = graph.parts["prefill"], graph.parts["decode"]
    assert without_caches(prefill) == ({"input_ids", "position_ids", "logits_to_keep"}, GIVEN)
    assert without_caches(decode) == ({"input_ids", "position_ids"}, GIVEN)
    caches = set(prefill.outputs) - GIVEN
    taken = {name for name in decode.inputs if name.startswith("input.")}
    assert taken == {f"input.{name}" for name in caches}
    assert set(decode.outputs) - GIVEN == {f"output.{name}" for name in caches}
    (weights,) = folder.glob("*.data")
    assert weights.name == "prefill.onnx.data"
    assert weights.stat().st_size < 1.5 * BYTES * graph.parameters


@pytest.mark.slow
def test_an_encoders_part_of_the_cache_is_not_given_again(prepared: PreparedGraphs) -> None:
    graph, _ = exported(generating_job(tiny_encoder_decoder()), prepared)
    decode = graph.parts["decode"]
    assert without_caches(decode) == ({"decoder_input_ids", "attention_mask"}, GIVEN)
    assert any("cross_attention_cache" in name for name in decode.inputs)
    assert not any("cross_attention_cache" in name for name in decode.outputs)
    assert "encoder_last_hidden_state" in graph.parts["prefill"].outputs
    assert graph.difference_relative < ROUNDING


@pytest.mark.slow
@pytest.mark.nightly
def test_of_vision_language_models_the_first_part_alone_is_static(prepared: PreparedGraphs) -> None:
    model = find("qwen2-vl-micro")
    graph, folder = exported(generating_job(model), prepared)
    assert graph.remedy == "static shape, image geometry as constants"
    taken, _ = without_caches(graph.parts["prefill"])
    assert taken == {"input_ids", "pixel_values", "logits_to_keep"}
    assert difference(folder, sample_of(model), model) < ROUNDING


@pytest.mark.slow
@pytest.mark.nightly
def test_halves_generate_too(prepared: PreparedGraphs) -> None:
    job = generating_job(tiny_decoder(), backend="cuda", precision="fp16")
    graph, folder = exported(job, prepared)
    assert (graph.numbers, graph.shape) == ("fp16", "dynamic")
    assert ROUNDING < graph.difference_relative < 1e-2
    weights = folder / "prefill.onnx.data"
    assert weights.stat().st_size < 1.5 * BYTES / 2 * graph.parameters


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [1, 3])
def test_any_batch_and_length_can_be_checked(batch_size: int, prepared: PreparedGraphs) -> None:
    _, folder = exported(generating_job(tiny_decoder()), prepared)
    sample = sample_of(tiny_decoder(), batch_size=batch_size, sequence_length=10 * batch_size)
    assert difference(folder, sample, tiny_decoder()) < ROUNDING


def with_other_logits(sample: Sample) -> Sample:
    assert sample.generated is not None
    logits = sample.generated.logits.copy()
    logits[:, -1] += 1e-3
    return replace(sample, generated=replace(sample.generated, logits=logits))


def with_other_outputs(sample: Sample) -> Sample:
    return replace(sample, outputs={"logits": np.ones_like(sample.outputs["logits"])})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_other_logits, "generating after fresh prompts, the outputs differ"),
        (with_other_outputs, "on fresh inputs, the outputs differ"),
    ],
)
def test_what_differs_from_torch_is_noticed(
    change: Callable[[Sample], Sample], message: str, prepared: PreparedGraphs
) -> None:
    _, folder = exported(generating_job(tiny_decoder()), prepared)
    with raises_words(WrongExport, match=message):
        difference(folder, change(sample_of(tiny_decoder())), tiny_decoder())
