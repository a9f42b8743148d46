"""Evidence of one observed call: outputs or error, times, and a trace in Chrome's format."""

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import psutil

from runner.contract.files import save_text
from runner.contract.job import Job
from runner.contract.rounds import OPERATORS_SUFFIX, TRACE_SUFFIX
from runner.measure.clock import monotonic, seconds
from runner.measure.environment import memory_budget_bytes, read_environment

_Outputs = TypeVar("_Outputs")
LEAST_KERNEL_SHARE = 0.2
"""Share of an iteration in which kernels must run, or be launched, or the host did most of it."""
OPERATOR_CATEGORY = "Node"
"""The category of events that stand for operators."""
COPIES = ("Memcpy", "Memset")
"""Beginnings of the names of what a GPU does beside kernels."""

_NUMBER_TYPES: Mapping[str, str] = {
    **dict.fromkeys(("float64", "double", "f64"), "fp64"),
    **dict.fromkeys(("float32", "float", "f32"), "fp32"),
    **dict.fromkeys(("float16", "f16"), "fp16"),
    **dict.fromkeys(("bfloat16", "bf16"), "bf16"),
    **dict.fromkeys(("int8", "uint8", "i8", "u8", "qint8", "quint8"), "int8"),
}
"""The names of types in torch, ONNX Runtime and OpenVINO."""
_BITS: Mapping[str, int] = {"fp64": 53, "fp32": 24, "fp16": 11, "bf16": 8, "int8": 7}
_NO_NUMBERS = ("int", "uint", "bool")  # beginnings of types of indices, sizes and masks

TraceEvent = dict[str, Any]
"""An event of Chrome's trace format; times in microseconds."""


@dataclass(frozen=True)
class Observation(Generic[_Outputs]):
    """The outcome of one call: outputs, or the error that it raised."""

    outputs: _Outputs | None
    error: str | None
    wall_s: float
    cpu_time_s: float

    @property
    def times(self) -> dict[str, str]:
        return {"wall_s": f"{self.wall_s:.6f}", "cpu_time_s": f"{self.cpu_time_s:.6f}"}

    @property
    def failure(self) -> dict[str, str]:
        return {} if self.error is None else {"error": self.error}


def observe(call: Callable[[], _Outputs]) -> Observation[_Outputs]:
    """Call once; an exception becomes evidence."""
    outputs, error = None, None
    cpu_start, start = time.process_time_ns(), monotonic()
    try:
        outputs = call()
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    wall, cpu = monotonic() - start, time.process_time_ns() - cpu_start
    return Observation(outputs, error, seconds(wall), seconds(cpu))


@dataclass(frozen=True)
class Kernels:
    """Kernels of one iteration."""

    time_s: float
    """Time in which the device executed at least one, under the profiler."""
    wall_s: float
    """Time of an iteration without the profiler, which slows the host and hardly a kernel."""
    error: str | None = None
    launch_share: float | None = None
    """Share of an iteration under the profiler in which the device executed a kernel or an operator
    of the host launched one; None where launches are not seen."""

    @property
    def share(self) -> float:
        return min(1.0, self.time_s / self.wall_s) if self.wall_s else 0.0

    @property
    def suffice(self) -> bool:
        share = max(self.share, self.launch_share or 0)
        return self.error is None and self.time_s > 0 and share >= LEAST_KERNEL_SHARE

    @property
    def evidence(self) -> dict[str, str]:
        failure = {} if self.error is None else {"iteration_error": self.error}
        shares = {"kernel_share": self.share, "launch_share": self.launch_share}
        known = {name: f"{share:.3f}" for name, share in shares.items() if share is not None}
        return {"kernel_time_s": f"{self.time_s:.6f}", **known, **failure}


@dataclass(frozen=True)
class UnseenKernels:
    """Kernels of which no profiler tells, which decides nothing."""

    reason: str
    suffice = True

    @property
    def evidence(self) -> dict[str, str]:
        return {"kernel_share_missing": self.reason}


SeenKernels = Kernels | UnseenKernels


def has_room_again(job: Job, weights_bytes: int) -> bool:
    """True if a profiler that loads the model once more has the memory for it."""
    used_bytes = psutil.Process().memory_info().rss
    budget_bytes = memory_budget_bytes(job.limits, read_environment(), used_bytes)
    # Loading takes the weights twice: the file's, and those laid out for the kernels.
    return used_bytes + 2 * weights_bytes <= budget_bytes


def look_again(job: Job, weights_bytes: int, look: Callable[[], SeenKernels]) -> SeenKernels:
    """Look by a profiler that loads the model once more; where it cannot, the numbers stand."""
    if not has_room_again(job, weights_bytes):
        return UnseenKernels("no profile: the memory has no room for the model once more")
    try:
        return look()
    except Exception as refusal:
        return UnseenKernels(f"no profile: {type(refusal).__name__}: {refusal}")


def busy_time(spans: Iterable[tuple[float, float]]) -> float:
    """The time in which at least one of these spans, of beginning and end, was under way."""
    busy, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        busy += max(0.0, end - max(start, reached))
        reached = max(reached, end)
    return busy


def join_distinct(words: Iterable[str]) -> str:
    """Join the distinct words in order: `cpu+cuda:0`, or `none`."""
    return "+".join(sorted(set(words))) or "none"


def format_counts(counts: Mapping[str, int]) -> str:
    """The counts in order of names: `MatMul 2, Relu 1`, or `none`."""
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"


def number_type(name: str) -> str:
    """The type of numbers that a runtime calls so, by the name of a precision if it has one."""
    name = name.removeprefix("torch.")
    return _NUMBER_TYPES.get(name, name)


def narrowest(names: Iterable[str]) -> list[str]:
    """The type of a product by its operands', as runtimes call them; none if they have none."""
    types = sorted(map(number_type, names), key=lambda name: _BITS.get(name, 0))
    return [name for name in types if name in _BITS or not name.startswith(_NO_NUMBERS)][:1]


def save_trace(events: Sequence[TraceEvent], stem: Path, by: str) -> None:
    """Write the events, and a table of the heaviest operators by name and their argument `by`."""
    text = json.dumps({"traceEvents": events})
    save_text(stem.with_name(f"{stem.name}{TRACE_SUFFIX}"), text)
    save_text(stem.with_name(f"{stem.name}{OPERATORS_SUFFIX}"), _operator_table(events, by))


def _operator_table(events: Iterable[TraceEvent], by: str) -> str:
    durations_by_operator: dict[tuple[str, str], list[float]] = {}
    for event in events:
        if event["cat"] == OPERATOR_CATEGORY:
            about = event["args"]
            key = (about["op_name"], about.get(by, ""))
            durations_by_operator.setdefault(key, []).append(event["dur"])
    total = sum(sum(durations) for durations in durations_by_operator.values()) or 1
    heaviest = sorted(durations_by_operator.items(), key=lambda item: -sum(item[1]))[:30]
    rows = [
        f"{name:<30} {other:<24} {len(durations):>7} {sum(durations):>12.0f} "
        f"{sum(durations) / total:>7.1%}"
        for (name, other), durations in heaviest
    ]
    head = f"{'operator':<30} {by:<24} {'calls':>7} {'total µs':>12} {'share':>7}"
    return "\n".join([head, *rows]) + "\n"
