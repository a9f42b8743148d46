"""Evidence that the claimed device did the work."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from runner.backends.base import Iteration, Query
from runner.backends.evidence import (
    OPERATOR_CATEGORY,
    Kernels,
    SeenKernels,
    TraceEvent,
    UnseenKernels,
    format_counts,
    join_distinct,
    observe,
    save_trace,
)
from runner.backends.openvino.device import (
    Compiler,
    OpenVINODevice,
    arithmetic_of_compiled,
    base_name,
    operator_types,
    product_types,
)
from runner.backends.openvino.query import GraphQuery, PartRequest, to_arrays
from runner.contract.record.verdict import Proof

_HOST = "CPU"
_MICROSECOND = timedelta(microseconds=1)
_SECOND = timedelta(seconds=1)
_ON_THE_HOST = "_cpu_impl"
"""In the kernel's name of an operator that OpenVINO's plug-in for GPUs leaves to the host."""


def prove(
    query: Query, device: OpenVINODevice, look: Callable[[], SeenKernels] | None = None
) -> tuple[Proof, dict[str, str]]:
    """Run the query once; report devices and arithmetic of parts, and an accelerator's kernels."""
    if not isinstance(query, GraphQuery):
        return "none", {"claimed": device.name}
    outcome = observe(lambda: to_arrays(query()))
    outputs = len(outcome.outputs or ())
    parts = query.compiled
    types = Counter(type_ for part in parts for _, type_ in operator_types(part))
    executed = {str(name) for part in parts for name in part.get_property("EXECUTION_DEVICES")}
    evidence = {
        "claimed": device.name,
        "execution_devices": join_distinct(executed),
        "device_full_name": device.full_name,
        "available_devices": ", ".join(device.available),
        "inference_precision": join_distinct(arithmetic_of_compiled(part) for part in parts),
        "operators": format_counts(types),
        "products": format_counts(product_types(parts)),
        "outputs": str(outputs),
        **outcome.times,
        **outcome.failure,
    }
    if device.requested is not None:
        evidence["asked"] = device.requested
    proof = judge_devices(device.name, executed, outputs, outcome.error is not None)
    if look is None or base_name(device.name) == _HOST:
        return proof, evidence
    kernels = look()
    proof = "partial" if proof == "proven" and not kernels.suffice else proof
    return proof, {**evidence, **kernels.evidence}


def judge_devices(claimed: str, executed: Iterable[str], outputs: int, failed: bool) -> Proof:
    """The proof that the executing devices, the number of outputs and a failure give."""
    used = {base_name(name) for name in executed}
    if used - {base_name(claimed)}:
        return "contradicted"
    if not used:
        return "none"
    return "partial" if failed or not outputs else "proven"


class CountingRequest:
    """A request that adds up how long its operators take on the device."""

    def __init__(self, request: Any) -> None:
        self._request = request
        self.forget()

    def forget(self) -> None:
        self.operators = 0
        self.time_s = 0.0

    def infer(self, **options: object) -> object:
        outputs = self._request.infer(**options)
        for node in executed_nodes(self._request):
            self.operators += 1
            if _ON_THE_HOST not in node.exec_type:
                self.time_s += node.real_time / _SECOND
        return outputs

    def __getattr__(self, name: str) -> Any:
        return getattr(self._request, name)


def openvino_kernels(
    iteration: Iteration, parts: Callable[[], Iterable[PartRequest]], compiler: Compiler
) -> SeenKernels:
    """Time an iteration, then another one whose parts, known once it is bound, count operators."""
    with iteration() as action:
        observe(action)
        usual = observe(action)
        with profiling(parts(), compiler) as requests:
            observe(action)
            for request in requests:
                request.forget()
            profiled = observe(action)
    error = usual.error or profiled.error
    if error is None and not any(request.operators for request in requests):
        return UnseenKernels("OpenVINO reports no operator of the device")
    return Kernels(sum(request.time_s for request in requests), usual.wall_s, error)


@contextmanager
def profiling(parts: Iterable[PartRequest], compiler: Compiler) -> Iterator[list[CountingRequest]]:
    """Let the parts execute with counters, each model compiled once more for this."""
    with ExitStack() as stack:
        compiled: dict[int, Any] = {}
        requests = []
        for part in parts:
            if id(part.model) not in compiled:
                compiled[id(part.model)] = compiler.compile(part.model, PERF_COUNT=True)
            requests.append(CountingRequest(compiled[id(part.model)].create_infer_request()))
            stack.enter_context(part.executing(requests[-1]))
        yield requests


def trace(action: Query, parts: Iterable[PartRequest], compiler: Compiler, stem: Path) -> None:
    """Profile the second of two calls of parts with counters: the first one initialises them."""
    with profiling(parts, compiler) as requests:
        action()
        action()
        events = list(events_of(requests))
    save_trace(events, stem, by="kernel")


def executed_nodes(request: Any) -> Iterator[Any]:
    return (node for node in request.get_profiling_info() if node.status.name == "EXECUTED")


def events_of(requests: Iterable[Any]) -> Iterator[TraceEvent]:
    """The operators that requests executed last, end to end, as only durations are reported."""
    now = 0.0
    for number, request in enumerate(requests):
        for node in executed_nodes(request):
            duration = node.real_time / _MICROSECOND
            yield {
                "name": node.node_name,
                "cat": OPERATOR_CATEGORY,
                "ph": "X",
                "pid": 0,
                "tid": number,
                "ts": now,
                "dur": duration,
                "args": {"op_name": node.node_type, "kernel": node.exec_type},
            }
            now += duration
