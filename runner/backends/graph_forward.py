"""The forward pass of a prepared graph, whatever the graph was made for."""

from runner.backends.graph_generation_feeds import forward_inputs
from runner.graph import Graph
from runner.inputs import Inputs
from runner.models import ModelSpec


def forward_pass(graph: Graph, model: ModelSpec, inputs: Inputs) -> tuple[Graph, Inputs]:
    """The graph of the parts that one forward pass takes, and what they choose their inputs from.

    In a graph for generation those are the parts that fill the cache.

    Raises:
        Unsupported: the prompt is one that such graphs do not take.
    """
    if graph.content == "forward":
        return graph, inputs
    parts = {name: part for name, part in graph.parts.items() if name != "decode"}
    return graph.model_copy(update={"parts": parts}), forward_inputs(model, inputs)
