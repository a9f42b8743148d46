"""The forward pass of a prepared graph, whatever the graph was made for."""

from runner.backends.graphs.feeds import Feeds, forward_inputs, taken
from runner.contract.graph import Graph
from runner.contract.models import ModelSpec
from runner.inputs import Inputs


def forward_pass(graph: Graph, model: ModelSpec, inputs: Inputs) -> tuple[Graph, Feeds]:
    """The graph of the parts that one forward pass takes, and what goes into them.

    In a graph for generation those are the parts that fill the cache.

    Raises:
        Unsupported: a part takes what is not given, or the prompt is one that such graphs refuse.
    """
    if graph.content == "forward":
        return graph, taken(_from_outside(graph), inputs)
    parts = {name: part for name, part in graph.parts.items() if name != "decode"}
    filling = graph.model_copy(update={"parts": parts})
    return filling, taken(_from_outside(filling), forward_inputs(model, inputs))


def _from_outside(graph: Graph) -> list[str]:
    """What the parts take that no part before them gives, each once."""
    found: dict[str, None] = {}
    given: set[str] = set()
    for part in graph.parts.values():
        found |= dict.fromkeys(name for name in part.inputs if name not in given)
        given.update(part.outputs)
    return list(found)
