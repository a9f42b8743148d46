"""Outputs of a query over a prepared graph, on the host, and the columns about the graph."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.base import FloatArray
from runner.contract.errors import Unsupported
from runner.contract.graph import Graph
from runner.contract.job import Job

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
    """True if the outputs hold neither NaN nor infinity.

    Raises:
        Unsupported: there is none.
    """
    if not outputs:
        raise Unsupported("the graph gives no output that could be checked")
    return all(bool(np.isfinite(value).all()) for value in outputs.values())


def graph_columns(job: Job, graph: Graph) -> dict[str, object]:
    """The columns of a record that describe this one of the job's graphs."""
    return {
        "graph": f"{job.graph}/{graph.shape}",
        "graph_sha256": graph.sha256,
        "graph_remedy": _remedy(graph),
        "graph_difference_relative": graph.difference_relative,
        "quantization": graph.method,
    }


def _remedy(graph: Graph) -> str:
    """The strategy of the export, behind those that failed."""
    failed = [f"{attempt.remedy} failed" for attempt in graph.attempts[:-1]]
    return ", ".join([*failed, graph.remedy])
