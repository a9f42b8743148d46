"""Runs the parts of a prepared graph in order: what one gives is what a later one takes."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from runner.contract.graph import Part

Value = TypeVar("Value")

Call = Callable[[Mapping[str, Value]], Mapping[str, Value]]
"""Runs one part: its inputs by name to its outputs by name."""


def run_parts(
    takes: Mapping[Part, Collection[str]],
    calls: Mapping[Part, Call[Value]],
    inputs: Mapping[str, Value],
) -> dict[str, Value]:
    """The graph's outputs by name, whether it has one part or several.

    Every part takes, of the model's inputs and of what earlier parts gave, exactly those that are
    named; inputs that no part names went into the graph as constants, or make no difference, and
    are left out. What a later part takes is no output of the graph. Values are whatever the runtime
    likes: numpy arrays, or tensors that stay on its device.

    Args:
        takes: the names of each part's inputs, as `Graph.takes` has them; the parts are run in the
            order in which they stand.
        calls: how to run each part, e.g. a session's `run` under its output names.
        inputs: what `runner.inputs.synthesise` gave, by the names of the model's arguments.

    Raises:
        KeyError: a part takes what neither the inputs nor an earlier part give.
    """
    known = dict(inputs)
    outputs: dict[str, Value] = {}
    for part, names in takes.items():
        given = calls[part]({name: known[name] for name in names})
        known |= given
        kept = {name: value for name, value in outputs.items() if name not in names}
        outputs = kept | dict(given)
    return outputs
