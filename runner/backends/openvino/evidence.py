"""Evidence that the claimed device did the work."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from runner.backends.base import Query
from runner.backends.evidence import (
    OPERATOR_CATEGORY,
    TraceEvent,
    join_distinct,
    observe,
    save_trace,
)
from runner.backends.openvino.compile import Compiler, arithmetic_of_compiled, operator_types
from runner.backends.openvino.device import OpenVINODevice, base_name
from runner.backends.openvino.query import GraphQuery, PartRequest, to_arrays
from runner.contract.record import Proof


def prove(query: Query, device: OpenVINODevice) -> tuple[Proof, dict[str, str]]:
    """Run the query once; report the devices and the arithmetic of its graph's parts."""
    if not isinstance(query, GraphQuery):
        return "none", {"claimed": device.name}
    outcome = observe(lambda: to_arrays(query()))
    outputs = len(outcome.outputs or ())
    parts = query.compiled
    executed = {name for part in parts for name in execution_devices(part)}
    evidence = {
        "claimed": device.name,
        "execution_devices": join_distinct(executed),
        "device_full_name": device.full_name,
        "available_devices": ", ".join(device.available),
        "inference_precision": join_distinct(arithmetic_of_compiled(part) for part in parts),
        "operators": _operators(parts),
        "outputs": str(outputs),
        **outcome.times,
        **outcome.failure,
    }
    if device.requested is not None:
        evidence["asked"] = device.requested
    return judge_devices(device.name, executed, outputs, outcome.error is not None), evidence


def judge_devices(claimed: str, executed: Iterable[str], outputs: int, failed: bool) -> Proof:
    """The proof that the facts give.

    Args:
        claimed: the device that the numbers are ascribed to.
        executed: the devices on which OpenVINO says that it executes.
        outputs: the number of arrays that the query returned.
        failed: True if it raised.
    """
    used = {base_name(name) for name in executed}
    if used - {base_name(claimed)}:
        return "contradicted"
    if not used:
        return "none"
    return "partial" if failed or not outputs else "proven"


def execution_devices(compiled: Any) -> list[str]:
    """The devices on which a compiled model executes, as it reports them."""
    return [str(name) for name in compiled.get_property("EXECUTION_DEVICES")]


def _operators(parts: Iterable[Any]) -> str:
    """The number of operators by type of number: `f32 40, i32 12`."""
    types = Counter(type_ for part in parts for _, type_ in operator_types(part))
    return ", ".join(f"{type_} {count}" for type_, count in sorted(types.items()))


_MICROSECOND = timedelta(microseconds=1)


def trace(action: Query, parts: Iterable[PartRequest], compiler: Compiler, stem: Path) -> None:
    """Profile the second of two calls; write its trace and a table of the heaviest operators.

    The parts are compiled once more, with counters, for this alone. The first call initialises
    them, so it is left out.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    with ExitStack() as stack:
        requests = [
            stack.enter_context(part.executing(compiler.compile(part.model, PERF_COUNT=True)))
            for part in parts
        ]
        action()
        action()
        events = list(events_of(requests))
    save_trace(events, stem, by="kernel")


def events_of(requests: Iterable[Any]) -> Iterator[TraceEvent]:
    """The operators that the requests executed last.

    OpenVINO reports their durations, not when they began, so they are laid end to end in the order
    of execution.
    """
    now = 0.0
    for number, request in enumerate(requests):
        for node in request.get_profiling_info():
            duration = node.real_time / _MICROSECOND
            if node.status.name != "EXECUTED":
                continue
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
