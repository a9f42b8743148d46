"""Energy by hardware counters, never by estimates: one file per kind of counter."""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from runner.contract.cell import Backend
from runner.contract.errors import Unavailable
from runner.contract.rounds import Energy
from runner.measure.clock import Clock, monotonic, seconds
from runner.measure.vendors import apple, rapl
from runner.measure.vendors.amd import gpu_amd
from runner.measure.vendors.counter import Counter
from runner.measure.vendors.nvidia import gpu_nvidia

FEWEST_PERIODS = 10
FOLLOW_SHARE = 0.4
"""Of the time in which a counter wraps at most once, after which it is read in between."""


@dataclass(frozen=True)
class _Reading:
    at_ns: int
    joules: tuple[float, ...]


class EnergyMeter:
    """Reads its counters at `start` and at `stop`; in between only lest one wraps unseen.

    That is every half a minute at most, for counters that wrap at all. Whatever keeps the meter
    from a sound number ends up as the reason beside no joules, never as an exception and never as
    an estimate.
    """

    def __init__(self, find: Callable[[], Sequence[Counter]], clock: Clock = monotonic) -> None:
        self._clock = clock
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
        """Take the first reading."""
        self._readings.clear()
        if self._counters:
            self._reason = None
            self.follow()
            self._begin_following()

    def follow(self) -> None:
        """Take a reading in between."""
        try:
            joules = tuple(counter.read() for counter in self._counters)
        except Exception as error:  # see above
            self._reason = _explain(error)
        else:
            self._readings.append(_Reading(self._clock(), joules))

    def stop(self) -> Energy:
        """Take the last reading and add up. Call `start` first."""
        self._end_following()
        if self._reason is None:
            self.follow()
        if self._reason is not None:
            return _unavailable(self._reason, None)
        window_s = seconds(self._readings[-1].at_ns - self._readings[0].at_ns)
        doubt = self._doubt(window_s)
        if doubt is not None:
            return _unavailable(doubt, window_s)
        names = " + ".join(counter.name for counter in self._counters)
        return Energy(joules=sum(self._gains()), window_s=window_s, method=f"measured: {names}")

    def _begin_following(self) -> None:
        wrapping = [counter.longest_s for counter in self._counters if counter.longest_s]
        if wrapping:
            self._stopped = threading.Event()
            arguments = (self._stopped, FOLLOW_SHARE * min(wrapping))
            self._follower = threading.Thread(
                target=self._keep_following, args=arguments, daemon=True
            )
            self._follower.start()

    def _end_following(self) -> None:
        if self._follower is not None:
            self._stopped.set()
            self._follower.join()
            self._follower = None

    def _keep_following(self, stopped: threading.Event, interval_s: float) -> None:
        while not stopped.wait(interval_s):
            self.follow()

    def _gains(self) -> list[float]:
        """Joules of each counter over the whole window."""
        return [
            sum(
                counter.between(before.joules[place], after.joules[place])
                for before, after in pairwise(self._readings)
            )
            for place, counter in enumerate(self._counters)
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


Find = Callable[[], list[Counter]]


def _processor() -> list[Counter]:
    return apple.processor() if sys.platform == "darwin" else rapl.processor()


def _none(backend: str) -> list[Counter]:
    raise Unavailable(f"no energy counter is known for the backend {backend}")


FINDERS: Mapping[Backend, Find] = {
    "cpu": _processor,
    "openvino": _processor,
    "wasm": _processor,
    "cuda": gpu_nvidia,
    "rocm": gpu_amd,
    "mps": apple.gpu,
}
"""Which counters see the hardware that a backend works on."""


def energy_meter(backend: Backend, uuid: str | None = None) -> EnergyMeter:
    """The meter over the counters that see this backend's hardware; it says so if there is none.

    `uuid` tells which of several NVIDIA GPUs works, where that is known.
    """
    if backend == "cuda":
        return EnergyMeter(partial(gpu_nvidia, uuid=uuid))
    return EnergyMeter(FINDERS.get(backend, partial(_none, backend)))


__all__ = ["Counter", "EnergyMeter", "energy_meter"]
