"""The interval of a median over fresh processes: the level at which most of the variance lies.

Kalibera & Jones, "Rigorous Benchmarking in Reasonable Time" (2013), sections 5 and 6: repetition is
worth most at the highest level that varies, and the interval comes from the means of that level.
Here the levels are processes (rounds) and iterations, and a round counts by its median. Rounds that
are near in time are not independent.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean, median, stdev
from typing import Any

import numpy as np

from runner.contract.confidence import GROWING_CONFIDENCE, INTERVAL_CONFIDENCE, students_t
from runner.contract.job import Job, Measure, ProcessSpread
from runner.contract.rounds import RoundResult
from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.percentiles import BOUNDED, Interval, median_interval
from runner.measure.statistics.spread import Series, effective_count, effective_rounds


@dataclass(frozen=True)
class Spread:
    """A relative deviation between fresh processes, and what it is known from."""

    deviation: float  # standard deviation of their medians by the mean of these
    quantile: float  # student's t that makes 95 % of it
    source: str
    processes: int | None = None  # those of the calibration of this host; None for the default
    degrees: float | None = None
    queue: float | None = None  # factor by which a queue multiplied it; None where it did not

    @property
    def is_calibrated(self) -> bool:
        """False for the default, which no measurement of this host gave."""
        return self.processes is not None

    @property
    def reach(self) -> float:
        """The share on either side of the middle within which 95 % of processes lie."""
        return self.quantile * self.deviation

    @property
    def safe_deviation(self) -> float:
        """The deviation that normal quantiles may be taken of, though few processes gave it."""
        return self.reach / _NORMAL

    @property
    def shown(self) -> float:
        """The least difference of two records of one process each that is more than chance."""
        return math.sqrt(2) * self.reach

    def multiplied(self, factor: float) -> "Spread":
        """The spread of a number that a queue moves so many times as far as its service times."""
        if factor == 1:
            return self
        source = f"{self.source}; its queue multiplies it by {factor:.3g}"
        return replace(self, deviation=factor * self.deviation, source=source, queue=factor)


_NORMAL = NormalDist().inv_cdf((1 + INTERVAL_CONFIDENCE) / 2)
DEFAULT_SPREAD = Spread(
    deviation=0.053,
    quantile=_NORMAL,
    source="default of our A/A study; further launches of its cells tell this host's",
)
"""The deviation of 480 processes of one cell, in two sessions (the study `aa_study`)."""


def spread_of(known: ProcessSpread | None) -> Spread:
    """The spread that a job brings along from its host's calibration or history, or the default."""
    if known is None:
        return DEFAULT_SPREAD
    degrees = known.processes - 1 if known.degrees is None else known.degrees
    quantile = students_t(degrees, INTERVAL_CONFIDENCE)
    day = known.measured_at.date()
    basis = f"{known.processes} processes ({degrees:.3g} degrees of freedom)"
    source = f"calibration with {basis}, {day}"
    if known.pairs is not None:
        source = f"history of this host, the upper bound by {known.pairs} pairs of {basis}, {day}"
    return Spread(known.cv, quantile, source, known.processes, degrees)


@dataclass(frozen=True)
class Processes:
    """A record's processes, by what is known of them beforehand."""

    spread: Spread
    confidence: float
    moments_s: Sequence[float] | None  # when they were measured, seconds; None if independent

    @classmethod
    def of(cls, job: Job, rounds: Sequence[RoundResult]) -> "Processes":
        return cls(
            spread_of(job.process_spread), growing_confidence(job.measure), moments_of(rounds)
        )

    def interval(self, medians: Sequence[float]) -> Interval | None:
        return round_interval(medians, self.confidence, self.moments_s)


def medians_of(rounds: Sequence[RoundResult]) -> list[float]:
    return [median(result.durations_ns) / NANOSECONDS for result in rounds]


def moments_of(rounds: Sequence[RoundResult]) -> list[float] | None:
    """The moments at which rounds were measured, seconds; None if one does not tell."""
    moments = [result.measured_at for result in rounds if result.measured_at is not None]
    if len(moments) < len(rounds):
        return None
    return [moment.timestamp() for moment in moments]


def round_interval(
    medians: Sequence[float], confidence: float, moments_s: Sequence[float] | None = None
) -> Interval | None:
    """Student's interval of the mean of round medians; None with fewer than two rounds."""
    if len(medians) < 2:
        return None
    mean, rounds = fmean(medians), effective_rounds(len(medians), moments_s)
    half = students_t(rounds.degrees, confidence) * stdev(medians) / math.sqrt(rounds.count)
    return Interval(_low_end(mean, half), mean, mean + half)


def widened(interval: Interval, error: float) -> Interval:
    """The interval with the share by which other processes may move its middle, in quadrature."""
    between = error * interval.value
    low = _low_end(interval.value, math.hypot(interval.value - interval.low, between))
    high = interval.value + math.hypot(interval.high - interval.value, between)
    return Interval(min(interval.low, low), interval.value, high)


def median_of_rounds(
    rounds: Sequence[Series], processes: Processes
) -> tuple[Interval | None, Interval | None]:
    """The interval of the median of values, and the one whose precision more measuring could mend.

    With several rounds it is that of their medians, with one its own, which is widened.
    """
    if not any(map(len, rounds)):
        return None, None
    if len(rounds) > 1:
        interval = processes.interval([float(np.median(values)) for values in rounds])
        return interval, interval
    (alone,) = rounds
    within = median_interval(alone, effective_count(alone))
    return widened(within, processes.spread.reach) if within else None, within


def process_error(rounds: Sequence[Series], processes: Processes) -> float:
    """The share by which a statistic of all values may be off, since other processes differ.

    With several rounds it follows from the interval of their medians, else from the known spread.
    """
    interval = processes.interval([median(values) for values in rounds])
    if interval is None:
        return processes.spread.reach
    return interval.high / interval.value - 1 if interval.value else 0.0


def widened_percentiles(
    prefix: str, columns: Mapping[str, Any], errors: Mapping[str, float]
) -> dict[str, float]:
    """The bounds of percentiles, widened in quadrature by the shares that processes shift them."""
    bounds: dict[str, float] = {}
    for name in BOUNDED:
        low_name, high_name = (f"{prefix}_{name}_{end}_s" for end in ("low", "high"))
        low, value, high = (columns[key] for key in (low_name, f"{prefix}_{name}_s", high_name))
        if low is not None and value is not None and high is not None:
            interval = widened(Interval(low, value, high), errors[name])
            bounds |= {low_name: interval.low, high_name: interval.high}
    return bounds


def _low_end(value: float, half: float) -> float:
    """The low end of a time's interval; no time is 0, so below its half it falls off slower.

    There it goes on with the same slope, so that a wider interval never has a higher one.
    """
    return value - half if half <= value / 2 else value * value / (4 * half)


def growing_confidence(measure: Measure) -> float:
    """The confidence at which a measure's interval over rounds is computed, to hold in 95 %."""
    return GROWING_CONFIDENCE if measure.most_rounds > measure.rounds else INTERVAL_CONFIDENCE


def between_cv(medians: Sequence[float]) -> float | None:
    """Coefficient of variation of round medians; None with fewer than two, or a mean of 0."""
    mean = fmean(medians)
    return stdev(medians) / mean if len(medians) > 1 and mean else None
