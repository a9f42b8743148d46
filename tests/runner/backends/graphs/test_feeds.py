"""Inputs of a forward pass over a graph, and of the part that fills a cache."""

from typing import Any

import numpy as np
import pytest
import torch

from runner.backends.graphs.feeds import (
    forward_pass,
    next_position,
    position_ids,
    prompt_inputs,
    start_tokens,
)
from runner.backends.torch.model import instantiate
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, GraphPart, Part
from runner.contract.models import find
from runner.inputs import Inputs, synthesise
from tests.support.decoding import generating_graph
from tests.support.tiny_models import tiny, tiny_decoder, tiny_encoder_decoder, torch_cell
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


def test_a_configuration_without_a_start_token_is_refused() -> None:
    model = tiny("AutoModelForSeq2SeqLM", {"model_type": "t5"}, encoder_decoder=True)
    with raises_words(Unsupported, match="the config of tiny has no decoder_start_token_id"):
        prompt_inputs(model, PROMPT)


def test_text_is_counted() -> None:
    places = position_ids(tiny_decoder(), PROMPT)
    assert places.tolist() == [[0, 1, 2], [0, 1, 2]]
    assert next_position(places).tolist() == [[3], [3]]


def test_an_image_spans_a_box_of_places() -> None:
    model = find("qwen2-vl-micro")
    kinds = np.array([[0, 0, 1, 1, 1, 1, 1, 1, 0]])
    inputs = {
        "input_ids": np.zeros_like(kinds),
        "mm_token_type_ids": kinds,
        "image_grid_thw": np.array([[1, 4, 6]]),
    }
    time, height, width = position_ids(model, inputs)[:, 0].tolist()
    assert time == [0, 1, 2, 2, 2, 2, 2, 2, 5]
    assert height == [0, 1, 2, 2, 2, 3, 3, 3, 5]
    assert width == [0, 1, 2, 3, 4, 2, 3, 4, 5]
    assert next_position(position_ids(model, inputs)).tolist() == [[[6]]] * 3


@pytest.mark.parametrize("name", ["qwen2-vl-micro", "qwen3-vl-micro"])
def test_the_places_of_images_are_those_of_transformers(name: str) -> None:
    spec = find(name)
    inputs = synthesise(spec, torch_cell(spec, 3, sequence_length=11), seed=0)
    network: Any = instantiate(spec, torch.float32)
    names = ("input_ids", "mm_token_type_ids", "image_grid_thw")
    places, _ = network.model.get_rope_index(*(torch.from_numpy(inputs[name]) for name in names))
    assert position_ids(spec, inputs).tolist() == places.tolist()


TAKES = ("input_ids", "position_ids", "logits_to_keep")


def a_graph(**parts: tuple[tuple[str, ...], tuple[str, ...]]) -> Graph:
    """A graph for forward passes whose parts take and give these names."""
    created: dict[Part, GraphPart] = {
        name: GraphPart(file="x.onnx", sha256="0", size_bytes=1, inputs=takes, outputs=gives)
        for name, (takes, gives) in parts.items()  # type: ignore[misc]
    }
    return generating_graph((), ()).model_copy(update={"content": "forward", "parts": created})


def test_a_graph_that_generates_is_filled_with_logits_wanted_at_every_place() -> None:
    executed, feeds = forward_pass(generating_graph(TAKES, ("token",)), tiny_decoder(), PROMPT)
    assert list(executed.parts) == ["prefill"]
    assert tuple(feeds) == TAKES
    assert feeds["logits_to_keep"].tolist() == [0, 1, 2]


def test_an_encoder_decoders_inputs_go_in_as_they_are() -> None:
    inputs = {**PROMPT, "decoder_input_ids": np.full((2, 4), 9)}
    _, feeds = forward_pass(generating_graph(tuple(inputs), ()), tiny_encoder_decoder(), inputs)
    assert all(feeds[name] is inputs[name] for name in inputs)


def test_what_goes_in_lies_in_one_piece() -> None:
    turned = {"input_ids": np.arange(6).reshape(3, 2).T}
    _, feeds = forward_pass(generating_graph(TAKES, ()), tiny_decoder(), turned)
    assert all(array.flags.c_contiguous for array in feeds.values())


def test_what_one_part_gives_another_goes_in_nowhere() -> None:
    graph = a_graph(
        vision=(("pixel_values",), ("features",)), language=(("features", "input_ids"), ("logits",))
    )
    executed, feeds = forward_pass(graph, tiny_decoder(), {**PROMPT, "pixel_values": np.ones(2)})
    assert executed is graph
    assert list(feeds) == ["pixel_values", "input_ids"]


@pytest.mark.parametrize("graph", [
    generating_graph(("pixel_values", "input_features"), ()),
    a_graph(forward=(("pixel_values", "input_ids", "input_features"), ())),
], ids=["generation", "forward"])  # fmt: skip
def test_what_nobody_gives_is_named(graph: Graph) -> None:
    words = "the graph takes pixel_values, input_features, which nothing gives"
    with raises_words(Unsupported, match=words):
        forward_pass(graph, tiny_decoder(), PROMPT)
