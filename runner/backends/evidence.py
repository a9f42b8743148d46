"""Evidence of one observed call: outputs or error, times, and a trace in Chrome's format."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from runner.contract.files import save_text
from runner.contract.outputs import OPERATORS_SUFFIX, TRACE_SUFFIX
from runner.measure.clock import monotonic, seconds

_Outputs = TypeVar("_Outputs")


@dataclass(frozen=True)
class Observation(Generic[_Outputs]):
    """The outcome of one call."""

    outputs: _Outputs | None
    """None if it raised."""
    error: str | None
    """The error that it raised; None if it returned."""
    wall_s: float
    cpu_time_s: float

    @property
    def times(self) -> dict[str, str]:
        """Wall and CPU time, as evidence."""
        return {"wall_s": f"{self.wall_s:.6f}", "cpu_time_s": f"{self.cpu_time_s:.6f}"}

    @property
    def failure(self) -> dict[str, str]:
        """The error, as evidence; empty if the call returned."""
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


def join_distinct(words: Iterable[str]) -> str:
    """Join the distinct words in order: `cpu+cuda:0`, or `none`."""
    return "+".join(sorted(set(words))) or "none"


OPERATOR_CATEGORY = "Node"
"""The category of events that stand for operators."""
_HEAVIEST = 30

TraceEvent = dict[str, Any]
"""An event of Chrome's trace format; times in microseconds."""


def save_trace(events: Sequence[TraceEvent], stem: Path, by: str) -> None:
    """Write the events and the table.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    text = json.dumps({"traceEvents": events})
    save_text(stem.with_name(f"{stem.name}{TRACE_SUFFIX}"), text)
    save_text(stem.with_name(f"{stem.name}{OPERATORS_SUFFIX}"), operator_table(events, by))


def operator_table(events: Iterable[TraceEvent], by: str) -> str:
    """A table of the operators that took longest, by the kernels' own durations.

    Args:
        events: those of category `Node` count; their arguments name the operator.
        by: a further argument by which operators are told apart, e.g. `provider`.
    """
    durations_by_operator: dict[tuple[str, str], list[float]] = {}
    for event in events:
        if event["cat"] == OPERATOR_CATEGORY:
            about = event["args"]
            key = (about["op_name"], about.get(by, ""))
            durations_by_operator.setdefault(key, []).append(event["dur"])
    total = sum(sum(durations) for durations in durations_by_operator.values()) or 1
    heaviest = sorted(durations_by_operator.items(), key=lambda item: -sum(item[1]))[:_HEAVIEST]
    rows = [
        f"{name:<30} {other:<24} {len(durations):>7} {sum(durations):>12.0f} "
        f"{sum(durations) / total:>7.1%}"
        for (name, other), durations in heaviest
    ]
    head = f"{'operator':<30} {by:<24} {'calls':>7} {'total µs':>12} {'share':>7}"
    return "\n".join([head, *rows]) + "\n"
