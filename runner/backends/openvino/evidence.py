"""Evidence that the claimed device did the work."""

from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from runner.backends.base import Query
from runner.backends.evidence import joined, watch
from runner.backends.graphs.outputs import NODE, Event, save_trace
from runner.backends.openvino.compile import Compiler, kinds_and_types, precision_of
from runner.backends.openvino.device import Device, plain
from runner.backends.openvino.query import GraphQuery, Step, on_host
from runner.contract.record import Proof


def prove(query: Query, device: Device) -> tuple[Proof, dict[str, str]]:
    """Run the query once; say which devices its graph's parts execute on, and in what numbers."""
    if not isinstance(query, GraphQuery):
        return "none", {"claimed": device.name}
    seen = watch(lambda: on_host(query()))
    outputs = len(seen.outputs or ())
    parts = query.compiled
    executed = {name for part in parts for name in execution_devices(part)}
    evidence = {
        "claimed": device.name,
        "execution_devices": joined(executed),
        "device_full_name": device.full_name,
        "available_devices": ", ".join(device.available),
        "inference_precision": joined(precision_of(part) for part in parts),
        "operators": _operators(parts),
        "outputs": str(outputs),
        **seen.times,
        **seen.failure,
    }
    if device.asked is not None:
        evidence["asked"] = device.asked
    return verdict(device.name, executed, outputs, seen.error is not None), evidence


def verdict(claimed: str, executed: Iterable[str], outputs: int, failed: bool) -> Proof:
    """What the facts amount to.

    Args:
        claimed: the device that the numbers are ascribed to.
        executed: the devices that OpenVINO says it executes on.
        outputs: how many arrays the query gave.
        failed: whether it raised.
    """
    found = {plain(name) for name in executed}
    if found - {plain(claimed)}:
        return "contradicted"
    if not found:
        return "none"
    return "partial" if failed or not outputs else "proven"


def execution_devices(compiled: Any) -> list[str]:
    """The devices on which a compiled model executes, as it says itself."""
    return [str(name) for name in compiled.get_property("EXECUTION_DEVICES")]


def _operators(parts: Iterable[Any]) -> str:
    """How many operators execute in each type of number: `f32 40, i32 12`."""
    types = Counter(type_ for part in parts for _, type_ in kinds_and_types(part))
    return ", ".join(f"{type_} {count}" for type_, count in sorted(types.items()))


MICROSECOND = timedelta(microseconds=1)


def trace(action: Query, steps: Iterable[Step], compiler: Compiler, stem: Path) -> None:
    """Profile the second of two calls; write its trace and a table of the heaviest operators.

    The parts are compiled once more, with counters, for this alone. The first call does what
    others don't, so it is left out.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    with ExitStack() as stack:
        requests = [
            stack.enter_context(step.executing(compiler.compile(step.model, PERF_COUNT=True)))
            for step in steps
        ]
        action()
        action()
        events = list(events_of(requests))
    save_trace(events, stem, by="kernel")


def events_of(requests: Iterable[Any]) -> Iterator[Event]:
    """The operators that the requests executed last.

    OpenVINO tells how long each took, not when it began, so they are laid end to end in the order
    in which they execute.
    """
    now = 0.0
    for number, request in enumerate(requests):
        for node in request.get_profiling_info():
            duration = node.real_time / MICROSECOND
            if node.status.name != "EXECUTED":
                continue
            yield {
                "name": node.node_name,
                "cat": NODE,
                "ph": "X",
                "pid": 0,
                "tid": number,
                "ts": now,
                "dur": duration,
                "args": {"op_name": node.node_type, "kernel": node.exec_type},
            }
            now += duration
