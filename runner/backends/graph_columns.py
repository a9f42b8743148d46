"""What a record says of the prepared graphs that a job executes."""

import hashlib
from pathlib import Path

from runner.cell import Job
from runner.errors import Unsupported
from runner.graph import Graph, find_graph


def graph_columns(job: Job, graphs: Path | None) -> dict[str, object]:
    """The columns of `runner.record.execution` that the job's graphs decide.

    A dynamic graph serves every cell. Where shapes had to be fixed the columns stand for all of
    the job's graphs together: their shapes in one name, one hash, the largest difference.

    Raises:
        Unsupported: no cell has a graph.
    """
    found = _found(job, graphs)
    remedies = dict.fromkeys(_remedy(graph) for graph in found)
    return {
        "graph": f"{job.graph}/{'+'.join(graph.shape for graph in found)}",
        "graph_sha256": _sha256(found),
        "graph_remedy": "; ".join(remedies),
        "graph_difference_relative": max(graph.difference_relative for graph in found),
        "quantization": found[0].method,
    }


def _found(job: Job, graphs: Path | None) -> list[Graph]:
    """The graphs, each once; a cell that has none gets its own verdict when it is bound."""
    found: dict[str, Graph] = {}
    for cell in job.cells:
        try:
            graph, _ = find_graph(job, cell, graphs)
        except Unsupported as error:
            missing = error
        else:
            found[graph.shape] = graph
    if not found:
        raise missing
    return list(found.values())


def _remedy(graph: Graph) -> str:
    """How it was exported, behind the ways that failed."""
    failed = [f"{attempt.remedy} failed" for attempt in graph.attempts[:-1]]
    return ", ".join([*failed, graph.remedy])


def _sha256(found: list[Graph]) -> str:
    if len(found) == 1:
        return found[0].sha256
    return hashlib.sha256("\n".join(graph.sha256 for graph in found).encode()).hexdigest()
