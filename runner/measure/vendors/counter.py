"""Energy counter: a growing number of joules, whichever vendor provides it."""

from collections.abc import Callable
from dataclasses import dataclass

MOST_WATTS = 1000
"""No package or memory draws more; bounds the time in which a counter can wrap twice."""


@dataclass(frozen=True)
class Counter:
    """A number of joules that grows until it wraps around."""

    name: str
    """Name of the counter, for the record."""
    period_s: float
    """Longest time between two updates."""
    read: Callable[[], float]
    """Joules since some moment. Raises whatever the source does."""
    wraps_at_j: float | None = None
    """Joules at which it starts again from zero; None if it never does."""
    part: str = "device"
    """The part of the machine whose energy it counts: `package`, `dram`, `board`, …"""

    @property
    def longest_s(self) -> float | None:
        """Seconds within which it wraps at most once; None if it never wraps."""
        return None if self.wraps_at_j is None else self.wraps_at_j / MOST_WATTS

    def between(self, before: float, after: float) -> float:
        """Joules between two readings, the counter having wrapped at most once."""
        if after < before and self.wraps_at_j is not None:
            return after + self.wraps_at_j - before
        return after - before
