"""Proof that an execution provider did the work, and traces."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import ModelProto

from runner.backends.evidence import Kernels, UnseenKernels
from runner.backends.onnxruntime.device import CPU, CUDA, OnnxDevice, cpu_device
from runner.backends.onnxruntime.evidence import (
    SessionFacts,
    judge_nodes,
    onnx_kernels,
    profiled_products,
    profiled_time_s,
    prove,
    trace,
)
from runner.backends.onnxruntime.query import OnnxQuery
from runner.backends.onnxruntime.sessions import OnnxGraph, session_options
from tests.support.onnx_graphs import KEY, WIDTH, layer, perceptron, save_graph

GPU = OnnxDevice("cuda", "a GPU", CUDA, memory="cuda")
X = np.ones((2, WIDTH), dtype=np.float32)
ALL_THERE = SessionFacts(providers_there=True, values_there=True, strict=True, failed=False)


def opened_in(folder: Path, **parts: ModelProto) -> OnnxGraph:
    content = "generation" if "prefill" in parts else "forward"
    graph = save_graph(folder, parts, content=content)  # type: ignore[arg-type]
    return OnnxGraph(graph, folder / KEY / "dynamic", cpu_device(), threads=1)


@pytest.fixture
def query(tmp_path: Path) -> OnnxQuery:
    return OnnxQuery(opened_in(tmp_path, forward=layer()), perceptron(), {"x": X})


@pytest.fixture
def parts_query(tmp_path: Path) -> OnnxQuery:
    vision, language = layer("x", "features"), layer("features", "logits")
    opened = opened_in(tmp_path, vision=vision, language=language)
    return OnnxQuery(opened, perceptron(), {"x": X})


def test_the_facts_behind_a_proof(query: OnnxQuery) -> None:
    proof, evidence = prove(query, cpu_device())
    times = {name: float(evidence.pop(name)) for name in ("wall_s", "cpu_time_s")}
    assert proof == "proven"
    assert min(times.values()) >= 0
    assert evidence == {
        "claimed": "cpu",
        "provider": CPU,
        "providers": CPU,
        "parts": "forward",
        "cpu_fallback": "allowed",
        "nodes": f"{CPU} 2",
        "inputs": "cpu",
        "outputs": "cpu",
    }


def test_products_are_told_by_the_types_that_went_into_them(parts_query: OnnxQuery) -> None:
    usual = parts_query.opened.sessions
    assert profiled_products(parts_query.opened, parts_query) == {"fp32": 2}
    assert parts_query.opened.sessions is usual


def test_a_cpu_session_behind_the_claim_of_a_gpu_is_contradicted(query: OnnxQuery) -> None:
    proof, evidence = prove(query, GPU)
    assert (proof, evidence["claimed"], evidence["providers"]) == ("contradicted", "cuda", CPU)
    assert evidence["nodes_on_cpu"] == "MatMul 1, Relu 1"
    proof, evidence = prove(query, replace(cpu_device(), memory="cuda"))
    assert (proof, evidence["inputs"], evidence["outputs"]) == ("contradicted", "cpu", "cpu")


def test_sessions_exchanged_behind_the_runners_back_are_looked_at(query: OnnxQuery) -> None:
    """The list of providers names one that this build lacks: the session is the CPU's."""
    model = layer().SerializeToString()
    session = onnxruntime.InferenceSession(model, session_options(1), providers=[CPU])
    query.opened.sessions = {"forward": session}
    proof, _ = prove(query, replace(GPU, memory="cpu"))
    assert proof == "contradicted"


def test_a_query_that_fails_proves_nothing_and_says_so(query: OnnxQuery) -> None:
    broken = OnnxQuery(query.opened, perceptron(), {"x": X[:, :3]})
    proof, evidence = prove(broken, cpu_device())
    assert proof == "partial"
    assert "invalid dimensions" in evidence["error"]
    assert evidence["outputs"] == "none"


@pytest.mark.parametrize(
    ("nodes", "changes", "proof"),
    [
        ({CUDA: 9}, {}, "proven"),
        ({CUDA: 9}, {"strict": False}, "proven"),
        ({CUDA: 9, CPU: 1}, {"strict": False}, "partial"),
        ({CUDA: 9, CPU: 1}, {}, "contradicted"),
        ({CPU: 9}, {"strict": False}, "contradicted"),
        ({CUDA: 9, "TensorrtExecutionProvider": 1}, {"strict": False}, "contradicted"),
        ({CUDA: 9}, {"providers_there": False}, "contradicted"),
        ({CUDA: 9}, {"values_there": False}, "contradicted"),
        ({CUDA: 9}, {"failed": True}, "partial"),
        ({CUDA: 9}, {"kernels": Kernels(0.1, 1.0)}, "partial"),
        ({CUDA: 9}, {"kernels": Kernels(0.3, 1.0)}, "proven"),
        ({CUDA: 9}, {"kernels": Kernels(0.3, 1.0, "RuntimeError: lost")}, "partial"),
        ({CUDA: 9}, {"kernels": UnseenKernels("no CUPTI")}, "proven"),
        ({CPU: 9}, {"kernels": Kernels(0.9, 1.0)}, "contradicted"),
        ({}, {}, "partial"),
    ],
)
def test_all_nodes_must_lie_as_claimed(
    nodes: dict[str, int], changes: dict[str, Any], proof: str
) -> None:
    result = {name: Counter(MatMul=count) for name, count in nodes.items()}
    assert judge_nodes(CUDA, result, replace(ALL_THERE, **changes)) == proof


def run(at: int, took: int = 5) -> dict[str, Any]:
    return {"cat": "Session", "name": "model_run", "ph": "X", "ts": at, "dur": took, "args": {}}


def kernel(at: int, took: int, name: str = "MatMul") -> dict[str, Any]:
    about = {"op_name": name, "provider": CPU}
    return {"cat": "Node", "name": f"{name}_kernel", "ts": at, "dur": took, "args": about}


def test_kernels_are_looked_at_on_accelerators_that_are_real(query: OnnxQuery) -> None:
    looks: list[Kernels] = []

    def look() -> Kernels:
        looks.append(Kernels(0.0, 1.0))
        return looks[-1]

    _, evidence = prove(query, replace(GPU, memory="cpu"), look)
    assert evidence["kernel_share"] == "0.000"
    for device in (cpu_device(), replace(GPU, is_simulated=True)):
        assert "kernel_share" not in prove(query, device, look)[1]
    assert len(looks) == 1


def test_a_share_of_the_iteration_of_a_real_graph(parts_query: OnnxQuery) -> None:
    """The CPU stands for an accelerator whose nodes end when they have been computed."""
    opened, calls = parts_query.opened, []

    @contextmanager
    def iteration() -> Iterator[Callable[[], None]]:
        def twice() -> None:
            calls.append(opened.sessions)
            parts_query()
            parts_query()

        yield twice
        calls.append({})

    usual = opened.sessions
    kernels = onnx_kernels(opened, cpu_device(), iteration)
    assert isinstance(kernels, Kernels)
    assert kernels.error is None
    assert kernels.wall_s > 0
    assert [sessions is usual for sessions in calls] == [True, True, False, False, False]
    assert opened.sessions is usual
    unseen = onnx_kernels(opened, GPU, iteration)
    assert isinstance(unseen, UnseenKernels)
    assert "tells of no kernels" in unseen.evidence["kernel_share_missing"]


def test_an_iteration_that_fails_under_the_profiler_leaves_its_error(query: OnnxQuery) -> None:
    broken = OnnxQuery(query.opened, perceptron(), {"x": X[:, :3]})
    kernels = onnx_kernels(query.opened, cpu_device(), lambda: nullcontext(broken))
    assert not kernels.suffice
    assert "invalid dimensions" in kernels.evidence["iteration_error"]


def cuda(at: int, took: int, name: str) -> dict[str, Any]:
    return {"cat": "Kernel", "name": name, "ts": at, "dur": took, "args": {"stream": "7"}}


def test_cudas_nodes_are_launches_so_its_kernels_count_and_others_nodes_do() -> None:
    copy = cuda(0, 90, "MemcpyHostToDevice")
    events = [run(0, 100), kernel(0, 50), cuda(10, 20, "gemm"), cuda(20, 20, "relu"), copy]
    assert profiled_time_s(events, GPU) == pytest.approx(30e-6)
    assert profiled_time_s([copy], GPU) == 0
    assert profiled_time_s([run(0), kernel(0, 50)], GPU) is None
    assert profiled_time_s(events, cpu_device()) == pytest.approx(50e-6)
    assert profiled_time_s(events, replace(GPU, provider="QNNExecutionProvider")) == 0


def test_a_trace_holds_one_call_of_every_part(parts_query: OnnxQuery, tmp_path: Path) -> None:
    usual = parts_query.opened.sessions
    trace(parts_query, parts_query.opened, tmp_path / "cell")
    assert parts_query.opened.sessions is usual
    events = json.loads((tmp_path / "cell.trace.json").read_bytes())["traceEvents"]
    assert [event["name"] for event in events].count("model_run") == 2
    kernels = [event["args"]["op_name"] for event in events if event["cat"] == "Node"]
    assert sorted(kernels) == ["MatMul", "MatMul", "Relu", "Relu"]
    table = (tmp_path / "cell.operators.txt").read_text("utf-8")
    assert table.split()[:6] == ["operator", "provider", "calls", "total", "µs", "share"]
    assert {line.split()[0] for line in table.splitlines()[1:]} == {"MatMul", "Relu"}
