"""What one forward pass executes of a prepared graph, and what goes into it."""

import numpy as np
import pytest

from runner.backends.graphs.feeds import forward_pass
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, GraphPart, Part
from runner.inputs import Inputs
from tests.support.decoding import generating_graph
from tests.support.tiny_models import tiny_decoder, tiny_encoder_decoder

PROMPT: Inputs = {
    "input_ids": np.array([[7, 8, 9], [1, 2, 3]]),
    "attention_mask": np.ones((2, 3), dtype=np.int64),
}
TAKES = ("input_ids", "position_ids", "logits_to_keep")


def a_graph(**parts: tuple[tuple[str, ...], tuple[str, ...]]) -> Graph:
    """A graph for forward passes whose parts take and give these names."""
    made: dict[Part, GraphPart] = {
        name: GraphPart(file="x.onnx", sha256="0", size_bytes=1, inputs=takes, outputs=gives)
        for name, (takes, gives) in parts.items()  # type: ignore[misc]
    }
    return generating_graph((), ()).model_copy(update={"content": "forward", "parts": made})


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
        vision=(("pixel_values",), ("features",)),
        language=(("features", "input_ids"), ("logits",)),
    )
    executed, feeds = forward_pass(graph, tiny_decoder(), {**PROMPT, "pixel_values": np.ones(2)})
    assert executed is graph
    assert list(feeds) == ["pixel_values", "input_ids"]


@pytest.mark.parametrize(
    "graph",
    [
        generating_graph(("pixel_values", "input_features"), ()),
        a_graph(forward=(("pixel_values", "input_ids", "input_features"), ())),
    ],
    ids=["generation", "forward"],
)
def test_what_nobody_gives_is_named(graph: Graph) -> None:
    words = "the graph takes pixel_values, input_features, which nothing gives"
    with pytest.raises(Unsupported, match=words):
        forward_pass(graph, tiny_decoder(), PROMPT)
