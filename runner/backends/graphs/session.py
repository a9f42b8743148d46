"""Sessions over prepared graphs: outputs by name, columns, graphs that run part by part."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from runner.backends.base import DeviceMemory, FloatArray, Trainer
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph, Part
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.support import mode_error
from runner.inputs import Inputs
from runner.measure.clock import Clock

CACHES = ("past_key_values", "cache_params")
"""Outputs that a later call would take as inputs."""
Outputs = Mapping[str, npt.NDArray[Any]]
"""Outputs by the dotted paths that the model's own have."""
_Value = TypeVar("_Value")
_Call = Callable[[Mapping[str, _Value]], Mapping[str, _Value]]


class GraphSession(ABC):
    """The answers of a session that do not depend on the runtime of its graphs."""

    @abstractmethod
    def outputs_of(self, outputs: Any) -> Outputs:
        """A query's outputs as arrays on the host."""

    def all_finite(self, outputs: object) -> bool:
        return all_finite(self.outputs_of(outputs))

    def arrays(self, outputs: object) -> Mapping[str, FloatArray]:
        return float_outputs(self.outputs_of(outputs))

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> Trainer:
        """Refuse: graphs for inference have no gradients."""
        del inputs, clock
        raise mode_error(cell, "training")

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        """None, since the runtime reports nothing or takes the host's."""
        del reset
        return None


def float_outputs(outputs: Outputs) -> dict[str, FloatArray]:
    """Copies of the floating-point outputs as fp32, without caches."""
    return {
        name: np.array(value, dtype=np.float32)
        for name, value in outputs.items()
        if np.issubdtype(value.dtype, np.floating) and name.split(".")[0] not in CACHES
    }


def all_finite(outputs: Outputs) -> bool:
    if not outputs:
        raise Unsupported(reason("graph_gives_no_output"))
    return all(bool(np.isfinite(value).all()) for value in outputs.values())


def graph_columns(job: Job, graph: Graph) -> dict[str, object]:
    failed = [f"{attempt.remedy} failed" for attempt in graph.attempts[:-1]]
    return {
        "graph": f"{job.graph}/{graph.shape}",
        "graph_sha256": graph.sha256,
        "graph_remedy": ", ".join([*failed, graph.remedy]),
        "graph_attempts": len(graph.attempts),
        "graph_difference_relative": graph.difference_relative,
        "quantization": graph.method,
    }


def run_parts(
    takes: Mapping[Part, Collection[str]],
    calls: Mapping[Part, _Call[_Value]],
    inputs: Mapping[str, _Value],
) -> dict[str, _Value]:
    """The outputs of parts, run in the order of `takes`, each over the inputs that it names.

    Other inputs went into the graph as constants, or make no difference. An output that a later
    part takes is no output of the graph.
    """
    known = dict(inputs)
    outputs: dict[str, _Value] = {}
    for part, names in takes.items():
        given = calls[part]({name: known[name] for name in names})
        known |= given
        kept = {name: value for name, value in outputs.items() if name not in names}
        outputs = kept | dict(given)
    return outputs
