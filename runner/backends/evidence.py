"""One call observed for evidence: outputs or error, and times."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

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
