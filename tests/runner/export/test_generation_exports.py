"""Real exports of generating models: two files, any length, weights once."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from runner.contract.cell import Cell
from runner.contract.graph import Graph, GraphPart, Part, find_graph
from runner.contract.job import Job
from runner.contract.models import ModelSpec, find
from runner.export.check import Sample, WrongExport, samples
from runner.export.generation import _FILES, EXPORT
from tests.support.prepared import PreparedGraphs
from tests.support.tiny_models import generating_job, tiny_decoder, tiny_encoder_decoder
from tests.support.words import raises_words

pytestmark = pytest.mark.slow

ROUNDING = 1e-5
"""Relative difference that sums in another order may make of so small a model."""
BYTES = 4
GIVEN = {"logits", "next_tokens"}
"""What each part gives beside caches."""


def exported(job: Job, prepared: PreparedGraphs) -> tuple[Graph, Path]:
    return find_graph(prepared.named(job), job.cells[0], prepared.folder)


def without_caches(part: GraphPart) -> tuple[set[str], set[str]]:
    """Inputs and outputs of a part, without caches."""
    taken = {name for name in part.inputs if not name.startswith("input.past_key_values.")}
    caches = ("past_key_values.", "output.past_key_values.")
    return taken, {name for name in part.outputs if not name.startswith(caches)}


def difference(folder: Path, sample: Sample, model: ModelSpec) -> float:
    """From torch, of the files in that folder."""
    return EXPORT.difference(model, files_in(folder), [sample], "fp32")


def files_in(folder: Path) -> dict[Part, Path]:
    return {part: folder / name for part, name in _FILES.items()}


def sample_of(model: ModelSpec, **changes: object) -> Sample:
    cell: Cell = generating_job(model, **changes).cells[0]
    (sample,) = samples(generating_job(model), [cell])
    return sample


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


def test_an_encoders_part_of_the_cache_is_not_given_again(prepared: PreparedGraphs) -> None:
    graph, _ = exported(generating_job(tiny_encoder_decoder()), prepared)
    decode = graph.parts["decode"]
    assert without_caches(decode) == ({"decoder_input_ids", "attention_mask"}, GIVEN)
    assert any("cross_attention_cache" in name for name in decode.inputs)
    assert not any("cross_attention_cache" in name for name in decode.outputs)
    assert "encoder_last_hidden_state" in graph.parts["prefill"].outputs
    assert graph.difference_relative < ROUNDING


@pytest.mark.nightly
def test_of_vision_language_models_the_first_part_alone_is_static(prepared: PreparedGraphs) -> None:
    model = find("qwen2-vl-micro")
    graph, folder = exported(generating_job(model), prepared)
    assert graph.remedy == "static shape, image geometry as constants"
    taken, _ = without_caches(graph.parts["prefill"])
    assert taken == {"input_ids", "pixel_values", "logits_to_keep"}
    assert difference(folder, sample_of(model), model) < ROUNDING


@pytest.mark.nightly
def test_halves_generate_too(prepared: PreparedGraphs) -> None:
    job = generating_job(tiny_decoder(), backend="cuda", precision="fp16")
    graph, folder = exported(job, prepared)
    assert (graph.numbers, graph.shape) == ("fp16", "dynamic")
    assert ROUNDING < graph.difference_relative < 1e-2
    weights = folder / "prefill.onnx.data"
    assert weights.stat().st_size < 1.5 * BYTES / 2 * graph.parameters


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
