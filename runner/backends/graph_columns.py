"""What a record says of the prepared graph that a cell executes."""

from runner.cell import Job
from runner.graph import Graph


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
