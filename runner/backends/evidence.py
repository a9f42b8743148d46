"""A query executed once for evidence, whatever becomes of it."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from runner.measure.clock import monotonic, seconds

T = TypeVar("T")


@dataclass(frozen=True)
class Watched(Generic[T]):
    """What was seen of one call."""

    outputs: T | None
    """None if it raised."""
    error: str | None
    """What it raised."""
    wall_s: float
    cpu_time_s: float

    @property
    def times(self) -> dict[str, str]:
        """How long it took, as evidence."""
        return {"wall_s": f"{self.wall_s:.6f}", "cpu_time_s": f"{self.cpu_time_s:.6f}"}

    @property
    def failure(self) -> dict[str, str]:
        """What it raised, as evidence; nothing if it ended well."""
        return {} if self.error is None else {"error": self.error}


def watch(call: Callable[[], T]) -> Watched[T]:
    """Call once; whatever that raises is evidence."""
    outputs, error = None, None
    cpu_start, start = time.process_time_ns(), monotonic()
    try:
        outputs = call()
    except Exception as raised:
        error = f"{type(raised).__name__}: {raised}"
    wall, cpu = monotonic() - start, time.process_time_ns() - cpu_start
    return Watched(outputs, error, seconds(wall), seconds(cpu))


def joined(words: Iterable[str]) -> str:
    """Each word once, in order: `cpu+cuda:0`, or `none`."""
    return "+".join(sorted(set(words))) or "none"
