"""Energy counters of Apple's chips, through the package zeus-apple-silicon."""

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.measure.vendors.counter import Counter

_JOULES_PER_MJ = 1e-3
_PERIOD_S = 0.1
"""Apple documents none; this is the slowest of the counters whose period is known."""


def apple_cpu_counters(monitor: Any = None) -> list[Counter]:
    """The counter of the CPU and, where the chip has one, of the memory.

    `monitor` is an AppleEnergyMonitor, or a test's stand-in for it.
    """
    return _counters(monitor or _load(), ("cpu_total", "dram"))


def apple_gpu_counters(monitor: Any = None) -> list[Counter]:
    """The counters of the GPU, its SRAM and the memory; otherwise like `apple_cpu_counters`."""
    return _counters(monitor or _load(), ("gpu", "gpu_sram", "dram"))


def _counters(monitor: Any, parts: Sequence[str]) -> list[Counter]:
    def read(part: str) -> float:
        return float(getattr(monitor.get_cumulative_energy(), f"{part}_mj") * _JOULES_PER_MJ)

    energies = monitor.get_cumulative_energy()
    shown = [part for part in parts if getattr(energies, f"{part}_mj") is not None]
    if parts[0] not in shown:
        raise Unavailable(f"this chip shows no energy of its {parts[0]}")
    return [
        Counter(f"Apple {part}", _PERIOD_S, partial(read, part), part=part.removesuffix("_total"))
        for part in shown
    ]


def _load() -> Any:
    try:
        return import_module("zeus_apple_silicon").AppleEnergyMonitor()
    except ImportError as error:
        raise Unavailable("the package zeus-apple-silicon is not installed") from error
