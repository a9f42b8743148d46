"""Inputs and outputs of a graph."""

from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.graphs.feeds import forward_pass, position_ids, prompt_inputs, start_tokens
from runner.backends.graphs.session import all_finite, float_outputs
from runner.backends.torch.model import instantiate
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, GraphPart, Part
from runner.contract.models import find
from runner.inputs import Inputs, synthesise
from tests.support.decoding import generating_graph
from tests.support.tiny_models import tiny_decoder, torch_cell
from tests.support.words import raises_words

PROMPT: Inputs = {
    "input_ids": np.array([[7, 8, 9], [1, 2, 3]]),
    "attention_mask": np.ones((2, 3), dtype=np.int64),
}


def test_padded_prompts_are_refused() -> None:
    padded = {**PROMPT, "attention_mask": np.array([[0, 1, 1], [1, 1, 1]])}
    with raises_words(Unsupported, match="only after prompts without padding"):
        prompt_inputs(tiny_decoder(), padded)


def test_the_start_token_is_the_configurations() -> None:
    whisper = find("whisper-micro")
    inputs = {"input_features": np.zeros((3, 16, 100), dtype=np.float32)}
    assert start_tokens(whisper, inputs).tolist() == [[998]] * 3


@pytest.mark.parametrize("name", ["qwen2-vl-micro", "qwen3-vl-micro"])
def test_the_places_of_images_are_those_of_transformers(name: str) -> None:
    spec = find(name)
    inputs = synthesise(spec, torch_cell(spec, 3, sequence_length=11), seed=0)
    network: Any = instantiate(spec, torch.float32)
    names = ("input_ids", "mm_token_type_ids", "image_grid_thw")
    places, _ = network.model.get_rope_index(*(torch.from_numpy(inputs[name]) for name in names))
    assert position_ids(spec, inputs).tolist() == places.tolist()


def a_graph(**parts: tuple[tuple[str, ...], tuple[str, ...]]) -> Graph:
    created: dict[Part, GraphPart] = {
        name: GraphPart(file="x.onnx", sha256="0", size_bytes=1, inputs=takes, outputs=gives)
        for name, (takes, gives) in parts.items()  # type: ignore[misc]
    }
    return generating_graph((), ()).model_copy(update={"content": "forward", "parts": created})


@pytest.mark.parametrize("graph", [
    generating_graph(("pixel_values", "input_features"), ()),
    a_graph(forward=(("pixel_values", "input_ids", "input_features"), ())),
], ids=["generation", "forward"])  # fmt: skip
def test_what_nobody_gives_is_named(graph: Graph) -> None:
    words = "the graph takes pixel_values, input_features, which nothing gives"
    with raises_words(Unsupported, match=words):
        forward_pass(graph, tiny_decoder(), PROMPT)


def test_floating_point_outputs_become_copies_in_fp32_without_caches() -> None:
    half = np.ones(2, dtype=np.float16)
    outputs = {
        "logits": half,
        "past_key_values.layers.0.keys": half,
        "indices": np.ones(2, dtype=np.int64),
    }
    result = float_outputs(outputs)
    assert result.keys() == {"logits"}
    assert result["logits"].dtype == np.float32
    half[:] = 0
    assert result["logits"].all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_noticed_even_in_a_cache(bad: float) -> None:
    fine = np.ones(3, dtype=np.float32)
    assert all_finite({"logits": fine, "indices": np.ones(2, dtype=np.int64)})
    assert not all_finite({"logits": fine, "past_key_values.0": np.array([1, bad])})
