"""Energy of a time window by hardware counters, never by estimates.

It is that of the device that works: of an accelerator its board's, of a processor its packages' and
memory's. What feeds an accelerator is read beside it, into a number of its own.
"""

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from runner.contract.axes import Backend
from runner.contract.errors import Unavailable
from runner.contract.rounds import Energy
from runner.measure.clock import Clock, monotonic, seconds
from runner.measure.vendors.amd import amd_energy_counters
from runner.measure.vendors.base import Counter
from runner.measure.vendors.counters import (
    apple_cpu_counters,
    apple_gpu_counters,
    intel_gpu_addresses,
    intel_gpu_counters,
    rapl_counters,
)
from runner.measure.vendors.nvidia import nvidia_energy_counters

FEWEST_PERIODS = 10
_FOLLOW_SHARE = 0.4
"""Counters that wrap are read again after this share of the time in which they wrap once."""


Find = Callable[[], Sequence[Counter]]  # finds the counters, or raises whatever their source does


@dataclass(frozen=True)
class EnergyDevice:
    """The device whose energy counts, as a session knows it beyond its backend and UUID."""

    is_discrete: bool = False  # True if it is a card of its own, outside of the processor's package
    pci_address: str | None = None  # the card's address, such as `0000:03:00.0`; None if unknown


@dataclass(frozen=True)
class _Reading:
    at_ns: int
    joules: tuple[float, ...]


class EnergyMeter:
    """Reads its counters at `start` and at `stop`, and in between if one could wrap unseen.

    Readings in between are at least half a minute apart. If anything prevents a sound number, the
    result has no joules but the reason: neither an exception nor an estimate.
    """

    def __init__(
        self, find: Find, clock: Clock = monotonic, beside: "EnergyMeter | None" = None
    ) -> None:
        """Find the counters; `beside` measures what feeds the device, for a number of its own."""
        self._clock = clock
        self._beside = beside
        self._counters: Sequence[Counter] = ()
        self._reason: str | None = "no counter was found"
        self._readings: list[_Reading] = []
        self._stopped = threading.Event()
        self._follower: threading.Thread | None = None
        try:
            self._counters = find()
        except Exception as error:  # vendors' libraries raise what they like
            self._reason = _explain(error)

    def start(self) -> None:
        if self._beside is not None:
            self._beside.start()
        self._readings.clear()
        if self._counters:
            self._reason = None
            self.follow()
        if wrapping := [counter.longest_s for counter in self._counters if counter.longest_s]:
            self._stopped = threading.Event()
            arguments = (self._stopped, _FOLLOW_SHARE * min(wrapping))
            self._follower = threading.Thread(
                target=self._keep_following, args=arguments, daemon=True
            )
            self._follower.start()

    def follow(self) -> None:
        try:
            joules = tuple(counter.read() for counter in self._counters)
        except Exception as error:  # see above
            self._reason = _explain(error)
        else:
            self._readings.append(_Reading(self._clock(), joules))

    def stop(self) -> Energy:
        """Take the last reading and add up. Call `start` first."""
        energy = self._stop()
        beside = self._beside.stop().joules if self._beside is not None else None
        return energy.model_copy(update={"host_joules": beside})

    def _stop(self) -> Energy:
        if self._follower is not None:
            self._stopped.set()
            self._follower.join()
            self._follower = None
        if self._reason is None:
            self.follow()
        if self._reason is not None:
            return _unavailable(self._reason, None)
        window_s = seconds(self._readings[-1].at_ns - self._readings[0].at_ns)
        if doubt := self._doubt(window_s):
            return _unavailable(doubt, window_s)
        names = " + ".join(counter.name for counter in self._counters)
        return Energy(
            joules=sum(self._gains()),
            window_s=window_s,
            method=f"measured: {names}",
            scope=" + ".join(dict.fromkeys(counter.part for counter in self._counters)),
        )

    def _keep_following(self, stopped: threading.Event, interval_s: float) -> None:
        while not stopped.wait(interval_s):
            self.follow()

    def _gains(self) -> list[float]:
        return [
            sum(
                counter.between(before.joules[number], after.joules[number])
                for before, after in pairwise(self._readings)
            )
            for number, counter in enumerate(self._counters)
        ]

    def _doubt(self, window_s: float) -> str | None:
        period = max(counter.period_s for counter in self._counters)
        if window_s < FEWEST_PERIODS * period:
            return f"window {window_s:.2g} s is shorter than ten counter periods of {period:g} s"
        unseen_s = max(seconds(b.at_ns - a.at_ns) for a, b in pairwise(self._readings))
        for counter, gain in zip(self._counters, self._gains(), strict=True):
            if counter.longest_s is not None and unseen_s > counter.longest_s:
                return f"{counter.name} may have wrapped more than once in {unseen_s:.0f} s"
            if gain <= 0:
                return f"{counter.name} did not advance in {window_s:.2g} s"
        return None


def _explain(error: Exception) -> str:
    return str(error) or type(error).__name__


def _unavailable(reason: str, window_s: float | None) -> Energy:
    return Energy(joules=None, window_s=window_s, method=f"unavailable: {reason}")


def _cpu_counters() -> list[Counter]:
    return apple_cpu_counters() if sys.platform == "darwin" else rapl_counters()


def _refuse(explanation: str) -> list[Counter]:
    raise Unavailable(explanation)


_OF_PROCESSOR = ("cpu", "wasm", "openvino")
_UNDECIDED = "processor or discrete GPU: which of them works is known after the load only"


def energy_meter(
    backend: Backend, uuid: str | None = None, device: EnergyDevice | None = None
) -> EnergyMeter:
    """The meter of the hardware that works; the UUID selects one of several NVIDIA GPUs.

    The device is what the session knows of it, None before it is open. Until then nobody knows
    whether OpenVINO's is the processor, unless there is no discrete GPU.
    """
    address = device.pci_address if device else None
    is_discrete = device is not None and device.is_discrete
    if backend == "cuda":
        find: Find = partial(nvidia_energy_counters, uuid=uuid)
    elif backend == "rocm":
        find = partial(amd_energy_counters, pci_address=address)
    elif backend == "mps":
        find = apple_gpu_counters
    elif backend == "openvino" and is_discrete:
        find = partial(intel_gpu_counters, address)
    elif backend == "openvino" and device is None and intel_gpu_addresses():
        find = partial(_refuse, _UNDECIDED)
    elif backend in _OF_PROCESSOR:
        find = _cpu_counters
    else:
        find = partial(_refuse, f"no energy counter is known for the backend {backend}")
    has_host = backend in ("cuda", "rocm") or is_discrete
    return EnergyMeter(find, beside=EnergyMeter(_cpu_counters) if has_host else None)
