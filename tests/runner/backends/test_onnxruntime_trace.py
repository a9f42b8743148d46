"""Traces by ONNX Runtime's profiler."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.backends.onnxruntime_device import CPU, cpu_device
from runner.backends.onnxruntime_graph import OnnxGraph
from runner.backends.onnxruntime_query import OnnxQuery
from runner.backends.onnxruntime_trace import second_half, trace
from runner.errors import RecordNotSaved
from tests.onnx_graphs import KEY, WIDTH, layer, perceptron, save_graph

X = np.ones((2, WIDTH), dtype=np.float32)


@pytest.fixture
def query(tmp_path: Path) -> OnnxQuery:
    parts = {"vision": layer("x", "features"), "language": layer("features", "logits")}
    graph = save_graph(tmp_path, parts)
    opened = OnnxGraph(graph, tmp_path / KEY / "dynamic", cpu_device(), threads=1)
    return OnnxQuery(opened, perceptron(), {"x": X})


def run(at: int, took: int = 5) -> dict[str, Any]:
    return {"cat": "Session", "name": "model_run", "ph": "X", "ts": at, "dur": took, "args": {}}


def kernel(at: int, took: int, name: str = "MatMul") -> dict[str, Any]:
    about = {"op_name": name, "provider": CPU}
    return {"cat": "Node", "name": f"{name}_kernel", "ts": at, "dur": took, "args": about}


def test_a_trace_holds_one_call_of_every_part(query: OnnxQuery, tmp_path: Path) -> None:
    usual = query.opened.sessions
    trace(query, query.opened, tmp_path / "cell")
    assert query.opened.sessions is usual
    events = json.loads((tmp_path / "cell.trace.json").read_bytes())["traceEvents"]
    assert [event["name"] for event in events].count("model_run") == 2
    kernels = [event["args"]["op_name"] for event in events if event["cat"] == "Node"]
    assert sorted(kernels) == ["MatMul", "MatMul", "Relu", "Relu"]
    table = (tmp_path / "cell.operators.txt").read_text("utf-8")
    assert table.splitlines()[0].split() == [
        "operator",
        "provider",
        "calls",
        "total",
        "µs",
        "share",
    ]
    assert {line.split()[0] for line in table.splitlines()[1:]} == {"MatMul", "Relu"}


def test_a_trace_that_cannot_be_saved_leaves_nothing(query: OnnxQuery, tmp_path: Path) -> None:
    with pytest.raises(RecordNotSaved, match="cannot be written"):
        trace(query, query.opened, tmp_path / "missing" / "cell")
    assert not (tmp_path / "missing").exists()


def test_a_failing_call_gives_the_usual_sessions_back(query: OnnxQuery, tmp_path: Path) -> None:
    usual = query.opened.sessions

    def fail() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        trace(fail, query.opened, tmp_path / "cell")
    assert query.opened.sessions is usual
    assert not list(tmp_path.glob("cell*"))


def test_of_several_runs_the_later_half_counts_on_one_clock(tmp_path: Path) -> None:
    early, late = tmp_path / "early.json", tmp_path / "late.json"
    early.write_text(json.dumps([run(0), kernel(1, 2), run(10), kernel(11, 2)]))
    late.write_text(json.dumps([run(0), kernel(1, 2), run(20), kernel(21, 2)]))
    found = second_half([(5_000, early), (8_000, late)])
    assert [event["ts"] for event in found] == [10, 11, 23, 24]
