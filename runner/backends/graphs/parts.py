"""Run the parts of a prepared graph in order, outputs of one as inputs of later ones."""

from collections.abc import Callable, Collection, Mapping
from typing import TypeVar

from runner.contract.graph import Part

_Value = TypeVar("_Value")

_Call = Callable[[Mapping[str, _Value]], Mapping[str, _Value]]
"""Runs one part: its inputs by name to its outputs by name."""


def run_parts(
    takes: Mapping[Part, Collection[str]],
    calls: Mapping[Part, _Call[_Value]],
    inputs: Mapping[str, _Value],
) -> dict[str, _Value]:
    """The graph's outputs by name, whether it has one part or several.

    Every part gets exactly the inputs that it names, from the model's inputs and the outputs of
    earlier parts. Inputs that no part names went into the graph as constants, or make no
    difference, and are left out. An output that a later part takes is no output of the graph.
    Values may be of any type: numpy arrays, or tensors that stay on the runtime's device.

    Args:
        takes: the names of each part's inputs, as `Graph.takes` has them; the parts are run in the
            order in which they stand.
        calls: functions that run each part, e.g. a session's `run` under its output names.
        inputs: the model's inputs, by the names of its arguments.

    Raises:
        KeyError: a part takes an input that neither the model nor an earlier part gives.
    """
    known = dict(inputs)
    outputs: dict[str, _Value] = {}
    for part, names in takes.items():
        given = calls[part]({name: known[name] for name in names})
        known |= given
        kept = {name: value for name, value in outputs.items() if name not in names}
        outputs = kept | dict(given)
    return outputs
