"""Outputs of prepared graphs: names, columns, checks, and graphs that run part by part."""

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from runner.backends.base import FloatArray
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, Part
from runner.contract.job import Job
from runner.contract.reasons import reason

CACHES = ("past_key_values", "cache_params")
"""Outputs that a later call would take as inputs."""

Outputs = Mapping[str, npt.NDArray[Any]]
"""Outputs by the dotted paths that the model's own have."""


def float_outputs(outputs: Outputs) -> dict[str, FloatArray]:
    """Copies of the floating-point outputs as fp32, without caches."""
    return {
        name: np.array(value, dtype=np.float32)
        for name, value in outputs.items()
        if np.issubdtype(value.dtype, np.floating) and name.split(".")[0] not in CACHES
    }


def all_finite(outputs: Outputs) -> bool:
    """True if the outputs hold neither NaN nor infinity."""
    if not outputs:
        raise Unsupported(reason("graph_gives_no_output"))
    return all(bool(np.isfinite(value).all()) for value in outputs.values())


def graph_columns(job: Job, graph: Graph) -> dict[str, object]:
    """The columns of a record that describe this one of the job's graphs."""
    return {
        "graph": f"{job.graph}/{graph.shape}",
        "graph_sha256": graph.sha256,
        "graph_remedy": _remedy(graph),
        "graph_attempts": len(graph.attempts),
        "graph_difference_relative": graph.difference_relative,
        "quantization": graph.method,
    }


def _remedy(graph: Graph) -> str:
    """The strategy of the export, behind those that failed."""
    failed = [f"{attempt.remedy} failed" for attempt in graph.attempts[:-1]]
    return ", ".join([*failed, graph.remedy])


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
