"""What a query over a prepared graph gave, once it lies on the host."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.backends.base import Array
from runner.contract.errors import Unsupported
from runner.contract.files import save_text
from runner.contract.graph import Graph
from runner.contract.job import Job

CACHES = ("past_key_values", "cache_params")
"""Outputs that a later call would take as inputs."""

Outputs = Mapping[str, npt.NDArray[Any]]
"""Outputs by the dotted paths that the model's own have."""


def float_outputs(outputs: Outputs) -> dict[str, Array]:
    """Copies of the floating-point outputs as fp32, without caches."""
    return {
        name: np.array(value, dtype=np.float32)
        for name, value in outputs.items()
        if np.issubdtype(value.dtype, np.floating) and name.split(".")[0] not in CACHES
    }


def all_finite(outputs: Outputs) -> bool:
    """Whether the outputs hold neither NaN nor infinity.

    Raises:
        Unsupported: there is none.
    """
    if not outputs:
        raise Unsupported("the graph gives no output that could be checked")
    return all(bool(np.isfinite(value).all()) for value in outputs.values())


def graph_columns(job: Job, graph: Graph) -> dict[str, object]:
    """The columns of `runner.record.execution` that this one of the job's graphs decides."""
    return {
        "graph": f"{job.graph}/{graph.shape}",
        "graph_sha256": graph.sha256,
        "graph_remedy": _remedy(graph),
        "graph_difference_relative": graph.difference_relative,
        "quantization": graph.method,
    }


def _remedy(graph: Graph) -> str:
    """How it was exported, behind the ways that failed."""
    failed = [f"{attempt.remedy} failed" for attempt in graph.attempts[:-1]]
    return ", ".join([*failed, graph.remedy])


NODE = "Node"
"""The category of an event that stands for an operator."""
HEAVIEST = 30

Event = dict[str, Any]
"""An event of Chrome's trace format; times in microseconds."""


def save_trace(events: Sequence[Event], stem: Path, by: str) -> None:
    """Write the events and the table.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    text = json.dumps({"traceEvents": events})
    save_text(stem.with_name(f"{stem.name}.trace.json"), text)
    save_text(stem.with_name(f"{stem.name}.operators.txt"), operators(events, by))


def operators(events: Iterable[Event], by: str) -> str:
    """A table of the operators that took longest, by the kernels' own durations.

    Args:
        events: those of category `Node` count; their arguments name the operator.
        by: the argument that operators are told apart by besides, e.g. `provider`.
    """
    taken: dict[tuple[str, str], list[float]] = {}
    for event in events:
        if event["cat"] == NODE:
            about = event["args"]
            key = (about["op_name"], about.get(by, ""))
            taken.setdefault(key, []).append(event["dur"])
    total = sum(sum(durations) for durations in taken.values()) or 1
    heaviest = sorted(taken.items(), key=lambda item: -sum(item[1]))[:HEAVIEST]
    rows = [
        f"{name:<30} {other:<24} {len(durations):>7} {sum(durations):>12.0f} "
        f"{sum(durations) / total:>7.1%}"
        for (name, other), durations in heaviest
    ]
    head = f"{'operator':<30} {by:<24} {'calls':>7} {'total µs':>12} {'share':>7}"
    return "\n".join([head, *rows]) + "\n"
