"""Facts of devices as vendors' libraries have them: energy, state, build, throttling."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from runner.contract.rounds import DeviceState

MOST_WATTS = 1000
"""No package or memory draws more; bounds the time in which a counter can wrap twice."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Counter:
    """A number of joules that grows until it wraps around."""

    name: str
    period_s: float  # longest time between two updates
    read: Callable[[], float]  # joules since some moment. Raises whatever the source does
    wraps_at_j: float | None = None  # joules at which it starts again from zero; None if never
    part: str = "device"  # the part of the machine that it counts: `package`, `dram`, `board`, …

    @property
    def longest_s(self) -> float | None:
        """Seconds within which it wraps at most once; None if it never wraps."""
        return None if self.wraps_at_j is None else self.wraps_at_j / MOST_WATTS

    def between(self, before: float, after: float) -> float:
        """Joules between two readings, the counter having wrapped at most once."""
        if after < before and self.wraps_at_j is not None:
            return after + self.wraps_at_j - before
        return after - before


@dataclass(frozen=True)
class Violations:
    """Counters that grow while something holds a GPU's clock down, since some moment."""

    held: Mapping[str, float]  # the counts, by the vendor's word for the reason
    reference: Mapping[str, float]  # counts that grow all the time, in the same unit

    def since(self, before: "Violations") -> dict[str, float]:
        """The share of the time in between, for each reason that has held the clock down."""
        shares = {}
        for reason, count in self.held.items():
            whole = self.reference[reason] - before.reference.get(reason, math.inf)
            grown = count - before.held.get(reason, math.inf)
            if whole > 0 and grown > 0:
                shares[reason] = min(1.0, grown / whole)
        return shares


class WatchedGpu(Protocol):
    """A GPU as its vendor's library shows it; each function raises what the library raises."""

    def state(self) -> DeviceState: ...

    def violations(self) -> Violations | None:
        """The counters of what holds its clock down; None where it has none."""


@dataclass(frozen=True)
class DeviceBuild:
    """The build and the settings of a GPU, named like the columns of `Record`; None is unknown."""

    device_partition: str | None = None
    device_power_limit_watts: float | None = None
    device_ecc: bool | None = None
    device_pcie_width: int | None = None
    device_pcie_generation: int | None = None
    device_memory_bytes: int | None = None
    device_compute_units: int | None = None


def known(read: Callable[[], _T]) -> _T | None:
    """The value, or None if the library raises, as it does for what a GPU lacks."""
    try:
        return read()
    except Exception:  # vendors' libraries raise what they like
        return None
