"""Evidence that the claimed execution provider did the work."""

import json
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from runner.backends.base import Iteration, Query
from runner.backends.evidence import (
    COPIES,
    OPERATOR_CATEGORY,
    Kernels,
    SeenKernels,
    TraceEvent,
    UnseenKernels,
    busy_time,
    format_counts,
    join_distinct,
    narrowest,
    observe,
    save_trace,
)
from runner.backends.onnxruntime.device import CPU, CUDA, OnnxDevice
from runner.backends.onnxruntime.query import OnnxQuery
from runner.backends.onnxruntime.sessions import Nodes, OnnxGraph, nodes_of, refuses_fallback
from runner.contract.record.verdict import Proof

_T = TypeVar("_T")
_RUN = "model_run"
_PRODUCTS = frozenset(
    {"MatMul", "FusedMatMul", "Gemm", "FusedGemm", "Conv", "FusedConv", "NhwcFusedConv"}
    | {"MatMulInteger", "MatMulIntegerToFloat", "DynamicQuantizeMatMul", "QLinearMatMul"}
    | {"ConvInteger", "QLinearConv", "MatMulNBits", "Attention", "MultiHeadAttention", "QAttention"}
)
"""ONNX Runtime's operators that multiply matrices."""
_MICROSECONDS_PER_NS = 1e-3
_MICROSECONDS = 1_000_000
_KERNEL = "Kernel"
"""The category of what a GPU executes (ONNX Runtime, `profiler_common.h`)."""


@dataclass(frozen=True)
class SessionFacts:
    """Facts about sessions and values, beside the nodes."""

    providers_there: bool
    values_there: bool
    strict: bool
    """True if every session was barred from the CPU provider."""
    failed: bool
    kernels: SeenKernels | None = None
    """The device's kernels in an iteration; None where nobody looked for them."""


def prove(
    query: Query, device: OnnxDevice, look: Callable[[], SeenKernels] | None = None
) -> tuple[Proof, dict[str, str]]:
    """Run the query once; report where values and all nodes lie, and an accelerator's kernels."""
    if not isinstance(query, OnnxQuery):
        return "none", {"claimed": device.claimed}
    outcome = observe(query)
    outputs: Mapping[str, Any] = outcome.outputs or {}
    sessions = query.opened.sessions.values()
    nodes = nodes_of(sessions)
    inputs_at, outputs_at = _memories(query.inputs), _memories(outputs)
    watched = device.is_accelerator and not device.is_simulated
    kernels = look() if look and watched else None
    facts = SessionFacts(
        providers_there=all(device.provider in session.get_providers() for session in sessions),
        values_there=inputs_at | outputs_at <= {device.memory},
        strict=all(refuses_fallback(session) for session in sessions),
        failed=outcome.error is not None,
        kernels=kernels,
    )
    evidence = {
        "claimed": device.claimed,
        "provider": device.provider,
        "providers": join_distinct(name for s in sessions for name in s.get_providers()),
        "parts": join_distinct(query.opened.graph.parts),
        "cpu_fallback": "disabled" if facts.strict else "allowed",
        "nodes": format_counts(Counter({name: count.total() for name, count in nodes.items()})),
        "inputs": join_distinct(inputs_at),
        "outputs": join_distinct(outputs_at),
        **({} if device.is_simulated else outcome.times),
        **outcome.failure,
        **({} if kernels is None else kernels.evidence),
    }
    if device.is_accelerator and CPU in nodes:
        evidence["nodes_on_cpu"] = format_counts(nodes[CPU])
    return judge_nodes(device.provider, nodes, facts), evidence


def judge_nodes(claimed: str, nodes: Nodes, facts: SessionFacts) -> Proof:
    strangers = nodes.keys() - {claimed}
    absent = not facts.providers_there or (nodes and claimed not in nodes)
    if absent or not facts.values_there or strangers - {CPU} or (strangers and facts.strict):
        return "contradicted"
    idle = facts.kernels is not None and not facts.kernels.suffice
    return "partial" if strangers or facts.failed or idle or not nodes else "proven"


def _memories(values: Mapping[str, Any]) -> set[str]:
    return {value.device_name() for value in values.values()}


def onnx_kernels(opened: OnnxGraph, device: OnnxDevice, iteration: Iteration) -> SeenKernels:
    """Time an iteration, then look at the kernels of another one on profiling sessions."""
    with iteration() as action:
        observe(action)
        usual = observe(action)
        profiled, events = _second_call(opened, lambda: observe(action))
    error = usual.error or profiled.error
    time_s = profiled_time_s(events, device)
    if time_s is None and error is None:
        return UnseenKernels("this build of ONNX Runtime tells of no kernels of the GPU")
    return Kernels(time_s or 0.0, usual.wall_s, error)


def profiled_time_s(events: Iterable[TraceEvent], device: OnnxDevice) -> float | None:
    """Seconds in which the device executed at least one kernel; None if the profile has none.

    A node of CUDA ends for the host as it is launched; only builds with CUPTI report its kernels.
    """
    if device.provider == CUDA:
        kernels = [event for event in events if event["cat"] == _KERNEL]
        computing = [event for event in kernels if not event["name"].startswith(COPIES)]
    else:
        kernels = [event for event in events if event["cat"] == OPERATOR_CATEGORY]
        computing = [e for e in kernels if e["args"].get("provider") == device.provider]
    if not kernels:
        return None
    return busy_time((e["ts"], e["ts"] + e["dur"]) for e in computing) / _MICROSECONDS


def profiled_products(opened: OnnxGraph, query: Query) -> Counter[str]:
    """Products of a query by the type of their narrowest operand, of nodes as they were fused."""
    counts: Counter[str] = Counter()
    for event in _second_call(opened, query)[1]:
        about = event.get("args", {})
        if event["cat"] == OPERATOR_CATEGORY and about.get("op_name") in _PRODUCTS:
            counts.update(narrowest(name for one in about["input_type_shape"] for name in one))
    return counts


def trace(action: Query, opened: OnnxGraph, stem: Path) -> None:
    save_trace(_second_call(opened, action)[1], stem, by="provider")


def _second_call(opened: OnnxGraph, call: Callable[[], _T]) -> tuple[_T, list[TraceEvent]]:
    """The result and profile of the second of two calls: the first one initialises the sessions."""
    with tempfile.TemporaryDirectory() as folder, opened.profiled(Path(folder)) as sessions:
        call()
        result = call()
        profiles = [
            (session.get_profiling_start_time_ns(), Path(session.end_profiling()))
            for session in sessions.values()
        ]
        return result, _second_half(profiles)


def _second_half(profiles: Iterable[tuple[int, Path]]) -> list[TraceEvent]:
    """The events of the later half of each session's runs, on one clock."""
    sessions = [(start, json.loads(path.read_bytes())) for start, path in profiles]
    earliest = min(start for start, _ in sessions)
    later: list[TraceEvent] = []
    for start, events in sessions:
        runs = sorted(event["ts"] for event in events if event["name"] == _RUN)
        begin = runs[len(runs) // 2] if runs else 0
        offset = (start - earliest) * _MICROSECONDS_PER_NS
        later += [event | {"ts": event["ts"] + offset} for event in events if event["ts"] >= begin]
    return later
