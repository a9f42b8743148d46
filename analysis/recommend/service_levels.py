"""Service levels: a percentile of latencies with its limit, and the chance that a cell keeps it."""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from statistics import NormalDist, fmean, median

from analysis.recommend.candidates import Figure
from runner.contract.errors import UsageError, closest

FRACTIONS: Mapping[str, float] = {"p50": 0.5, "p90": 0.9, "p95": 0.95, "p99": 0.99, "p99.9": 0.999}
_SECONDS: Mapping[str, float] = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6}
_FORM = re.compile(r"\s*([a-zA-Z0-9.]+)\s*(<=?)\s*([0-9.]+)\s*([a-zA-Zµ]*)\s*")
_EXAMPLE = "write for example --slo 'p95<50ms' or --slo 'p99<0.2s'"
_RESAMPLES = 500
_MOST_BLOCKS = 64
"""Blocks of a resample, of all its launches together."""
_PROCESSES = 15
"""Equally likely speeds of a fresh process, where one launch alone was measured."""
LEAST_LIKE_CELLS = 3
"""Measured cells from which on the spread of a predicted one is known."""
_NORMAL_90 = NormalDist().inv_cdf(0.95)
"""Half the width of a 90 % interval in standard deviations."""


@dataclass(frozen=True)
class ServiceLevel:
    """A limit that a percentile of the latencies of single queries must keep."""

    percentile: str
    """E.g. `p95`."""
    limit_s: float

    @property
    def fraction(self) -> float:
        return FRACTIONS[self.percentile]

    @property
    def column(self) -> str:
        return self.percentile.replace(".", "")

    def __str__(self) -> str:
        return f"{self.percentile} < {self.limit_s * 1e3:g} ms"


@dataclass(frozen=True)
class SloChance:
    """The chance that a candidate keeps a service level."""

    share: float | None
    """From 0 to 1; None if it is not known."""
    basis: str
    """The evidence that it rests on, or the reason why it is not known."""
    percentile_s: float | None = None


def parse_service_level(words: str) -> ServiceLevel:
    """The service level in words such as `p95<50ms` or `p99.9 < 0.2s`."""
    match = _FORM.fullmatch(words)
    if match is None:
        raise UsageError(f"--slo: {words!r} is no percentile with its limit", hint=_EXAMPLE)
    name, _, number, unit = match.groups()
    percentile = "p99.9" if name.lower() == "p999" else name.lower()
    if percentile not in FRACTIONS:
        near = closest(percentile, FRACTIONS)
        guess = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"--slo {words}: there is no percentile {name!r}",
            hint=f"{guess}Percentiles are {', '.join(FRACTIONS)}",
        )
    if unit not in _SECONDS:
        lack = f"{unit!r} is no unit of time" if unit else "the limit has no unit"
        raise UsageError(f"--slo {words}: {lack}", hint=f"units are s, ms and us; {_EXAMPLE}")
    try:
        limit_s = float(number) * _SECONDS[unit]
    except ValueError:
        limit_s = 0.0
    if not 0 < limit_s < math.inf:
        raise UsageError(f"--slo {words}: {number!r} is no number above 0", hint=_EXAMPLE)
    return ServiceLevel(percentile, limit_s)


@dataclass(frozen=True)
class MeasuredDurations:
    """The raw durations of a result, with what tells how they depend on each other."""

    launches: tuple[Sequence[int], ...]
    """Nanoseconds, launch by launch, in order."""
    effective: float | None
    """Independent iterations that would tell as much; None where nobody knows."""
    process_spread: float | None
    """Relative deviation between fresh processes; None where several launches tell it."""
    percentile_s: float | None
    """The percentile as the record has it; None where its samples do not support it."""
    needed: int | None


def measured_chance(level: ServiceLevel, durations: MeasuredDurations) -> SloChance:
    """The share of resamples of raw durations whose percentile keeps the limit.

    Launches are drawn with replacement (the cluster bootstrap of Davison and Hinkley 1997, section
    3.8), and in each blocks of neighbouring durations, as long as these depend on each other
    (Künsch 1989). One launch says nothing of other processes: its durations are scaled by the
    host's known spread.
    """
    count = sum(map(len, durations.launches))
    if durations.percentile_s is None or not count:
        needed = f"{durations.needed:,}" if durations.needed else "more"
        held = f"of which the {count:,} measured ones hold too few"
        if durations.effective and durations.effective < (durations.needed or 0):
            held = f"and the {count:,} measured ones tell as much as {durations.effective:,.0f}"
        basis = f"{level.percentile} takes {needed} independent iterations, {held}"
        return SloChance(None, basis)
    chance = random.Random(0)  # noqa: S311 - a resample, not a secret
    factors = [1.0]  # times of fresh processes by that of the measured one, equally likely
    if len(durations.launches) == 1 and durations.process_spread:
        normal = NormalDist(0, durations.process_spread)
        factors = [math.exp(normal.inv_cdf((i + 0.5) / _PROCESSES)) for i in range(_PROCESSES)]
    kept = 0
    per_factor = _RESAMPLES // len(factors)
    for factor in factors:
        limit_ns = level.limit_s * 1e9 / factor
        launches = [_launch(launch, limit_ns) for launch in durations.launches if launch]
        if not any(launch.sums[launch.size] for launch in launches):
            kept += per_factor
            continue
        # Blocks are as long as durations depend, and so few that resampling is quick.
        dependent = count / durations.effective if durations.effective else 1.0
        length = math.ceil(max(dependent, count / _MOST_BLOCKS, 1.0))
        blocks = min(max(1, count // len(launches)), length)
        kept += sum(_keeps(launches, blocks, level.fraction, chance) for _ in range(per_factor))
    share = kept / (per_factor * len(factors))
    return SloChance(share, f"{count:,} durations", durations.percentile_s)


@dataclass(frozen=True)
class _Launch:
    size: int
    sums: Sequence[int]
    """The number of durations beyond the limit among the first ones, twice round."""


def _launch(durations: Sequence[int], limit_ns: float) -> _Launch:
    beyond = [duration > limit_ns for duration in durations]
    return _Launch(len(beyond), [0, *accumulate(beyond + beyond)])


def _keeps(launches: Sequence[_Launch], block: int, fraction: float, chance: random.Random) -> bool:
    beyond = total = 0
    for _ in launches:
        launch = launches[int(chance.random() * len(launches))]
        length = min(block, launch.size)
        for _ in range(-(-launch.size // length)):
            start = int(chance.random() * launch.size)
            beyond += launch.sums[start + length] - launch.sums[start]
            total += length
    return beyond <= (1 - fraction) * total


def predicted_chance(
    level: ServiceLevel, latency_ms: Figure, variations: Sequence[float]
) -> SloChance:
    """The chance by a predicted median and the coefficients of variation of like cells.

    Durations are taken for log-normal: ln p = ln median + z sqrt(ln(1 + cv²)). The median's own
    error is that of its 90 % interval, and each like cell's cv is as likely as another's.
    """
    if latency_ms.outside:
        return SloChance(None, f"the prediction extrapolates: {latency_ms.outside[0]}")
    if len(variations) < LEAST_LIKE_CELLS:
        least = f"at least {LEAST_LIKE_CELLS} measured cells of this backend and runtime"
        return SloChance(None, f"the spread of durations takes {least}, not {len(variations)}")
    interval = latency_ms.interval
    error = math.log(interval.high / interval.low) / 2 / _NORMAL_90 if interval else 0.0
    room = math.log(level.limit_s * 1e3 / latency_ms.value)
    tail = NormalDist().inv_cdf(level.fraction)
    distances = [tail * math.sqrt(math.log1p(cv**2)) for cv in variations]
    rooms = [room - distance for distance in distances]
    normal = NormalDist(0, error)
    share = fmean(normal.cdf(one) if error > 0 else float(one >= 0) for one in rooms)
    percentile_s = latency_ms.value / 1e3 * math.exp(median(distances))
    return SloChance(share, f"the spread of {len(variations)} like cells", percentile_s)


def launches_of(durations: Sequence[int], counts: Sequence[int] | None) -> tuple[list[int], ...]:
    """The durations of each launch, from those of all; of one launch where no counts add up."""
    if not counts or sum(counts) != len(durations):
        return (list(durations),)
    ends = list(accumulate(counts))
    starts = [0, *ends[:-1]]
    parts = (list(durations[start:end]) for start, end in zip(starts, ends, strict=True))
    return tuple(part for part in parts if part)
