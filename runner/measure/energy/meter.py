"""Joules between two readings of counters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.measure.clock import Clock, monotonic, seconds
from runner.measure.energy.counter import Counter
from runner.part import Energy

FEWEST_PERIODS = 10


@dataclass(frozen=True)
class _Reading:
    at_ns: int
    joules: tuple[float, ...]


class EnergyMeter:
    """Reads its counters at `start` and at `stop`, and never in between.

    Whatever keeps it from a sound number ends up as the reason beside no joules, never as an
    exception and never as an estimate.
    """

    def __init__(self, find: Callable[[], Sequence[Counter]], clock: Clock = monotonic) -> None:
        self._clock = clock
        self._counters: Sequence[Counter] = ()
        self._reason = "no counter was read"
        self._before: _Reading | None = None
        try:
            self._counters = find()
        except Exception as error:  # vendors' libraries raise what they like
            self._reason = _explain(error)

    def start(self) -> None:
        """Take the first reading."""
        self._before = self._read()

    def stop(self) -> Energy:
        """Take the second reading and compare. Call `start` first."""
        before = self._before
        after = self._read() if before is not None else None
        if before is None or after is None:
            return _unavailable(self._reason, None)
        window_s = seconds(after.at_ns - before.at_ns)
        joules = [
            counter.between(*pair)
            for counter, *pair in zip(self._counters, before.joules, after.joules, strict=True)
        ]
        doubt = self._doubt(window_s, joules)
        if doubt is not None:
            return _unavailable(doubt, window_s)
        names = " + ".join(counter.name for counter in self._counters)
        return Energy(joules=sum(joules), window_s=window_s, method=f"measured: {names}")

    def _read(self) -> _Reading | None:
        if not self._counters:
            return None
        try:
            joules = tuple(counter.read() for counter in self._counters)
        except Exception as error:  # see above
            self._reason = _explain(error)
            return None
        return _Reading(self._clock(), joules)

    def _doubt(self, window_s: float, joules: Sequence[float]) -> str | None:
        period = max(counter.period_s for counter in self._counters)
        if window_s < FEWEST_PERIODS * period:
            return f"window {window_s:.2g} s is shorter than ten counter periods of {period:g} s"
        for counter, value in zip(self._counters, joules, strict=True):
            if counter.longest_s is not None and window_s > counter.longest_s:
                return f"{counter.name} may have wrapped more than once in {window_s:.0f} s"
            if value <= 0:
                return f"{counter.name} did not advance in {window_s:.2g} s"
        return None


def _explain(error: Exception) -> str:
    return str(error) or type(error).__name__


def _unavailable(reason: str, window_s: float | None) -> Energy:
    return Energy(joules=None, window_s=window_s, method=f"unavailable: {reason}")
