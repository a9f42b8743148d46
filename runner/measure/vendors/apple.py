"""Apple's counters: energy of the parts of the chip, through the package zeus-apple-silicon."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.measure.vendors.counter import Counter

MILLI = 1e-3
PERIOD_S = 0.1
"""Apple documents none; this is the slowest of the counters whose period is known."""


def processor(monitor: Any = None) -> list[Counter]:
    """A counter of the CPU and, where the chip tells, of the memory.

    `monitor` is an AppleEnergyMonitor, or what stands in for it.

    Raises:
        Unavailable: the library is missing, or the chip shows none of them.
    """
    return _counters(monitor or _load(), ("cpu_total", "dram"))


def gpu(monitor: Any = None) -> list[Counter]:
    """The same of the GPU, its SRAM and the memory."""
    return _counters(monitor or _load(), ("gpu", "gpu_sram", "dram"))


def _counters(monitor: Any, parts: Sequence[str]) -> list[Counter]:
    def read(part: str) -> float:
        return float(getattr(monitor.get_cumulative_energy(), f"{part}_mj") * MILLI)

    energies = monitor.get_cumulative_energy()
    shown = [part for part in parts if getattr(energies, f"{part}_mj") is not None]
    if parts[0] not in shown:
        raise Unavailable(f"this chip shows no energy of its {parts[0]}")
    return [Counter(f"Apple {part}", PERIOD_S, partial(read, part)) for part in shown]


def _load() -> Any:
    try:
        return import_module("zeus_apple_silicon").AppleEnergyMonitor()
    except ImportError as error:
        raise Unavailable("the package zeus-apple-silicon is not installed") from error
