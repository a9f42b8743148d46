"""Service levels: a percentile of latencies with its limit, and the chance that a cell keeps it."""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
_RARE = 0.05
"""The chance up to which something is taken for impossible."""
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
    percentile: str | None = None
    """The name of that percentile where it is not the level's own."""
    is_least: bool = False
    """True if the chance is at least so great, as far as the durations tell."""


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
    percentiles: Mapping[str, tuple[float, float | None, float | None]] = field(
        default_factory=dict
    )
    """All that the record supports, in seconds, with the ends of their 95 % intervals."""

    @property
    def count(self) -> int:
        return sum(map(len, self.launches))

    def beyond(self, limit_s: float) -> int:
        return sum(one > limit_s * 1e9 for launch in self.launches for one in launch)


def measured_chance(level: ServiceLevel, durations: MeasuredDurations) -> SloChance:
    """The chance to keep a level, by resampling; where samples support it not, a bound of it.

    A percentile is no shorter than a lower one. So a level is not kept whose limit a lower
    percentile exceeds for sure, and is kept if a higher one keeps the limit.
    """
    if durations.percentile_s is not None and durations.count:
        share = _resampled(level, level.fraction, durations)
        return SloChance(share, f"{durations.count:,} durations", durations.percentile_s)
    known = sorted(durations.percentiles.items(), key=lambda one: -FRACTIONS[one[0]])
    for name, (value, low, _) in known:
        # A value without an interval counts where there are no durations, as of imports.
        least = value if low is None and not durations.count else low
        if FRACTIONS[name] <= level.fraction and least and least > level.limit_s:
            return SloChance(_RARE / 2, f"{name} and its interval", value, name)
    higher = {name: high for name, (_, _, high) in known if FRACTIONS[name] >= level.fraction}
    own = higher.get(level.percentile)
    ends = [own] if durations.count else [*higher.values()]
    if any(high and high < level.limit_s for high in ends):
        return SloChance(1 - _RARE / 2, "percentiles and their intervals", is_least=True)
    if not durations.count:
        return SloChance(None, f"neither its durations nor an interval of {level.percentile} tell")
    most, least_share = _shares_by_counts(level, durations)
    number = durations.beyond(level.limit_s)
    counts = f"{number:,} of {durations.count:,} durations are longer than the limit"
    if most <= _RARE:
        return SloChance(most, counts)
    supported = [FRACTIONS[name] for name in higher if name != level.percentile]
    shares = (_resampled(level, fraction, durations) for fraction in supported)
    return SloChance(max([least_share, *shares]), counts, is_least=True)


def _shares_by_counts(level: ServiceLevel, durations: MeasuredDurations) -> tuple[float, float]:
    """The most and the least chance that a percentile keeps the limit, by durations beyond it.

    These are the tails of a binomial distribution that make the exact interval of Clopper and
    Pearson, Biometrika 26 (1934), 404-413; of order statistics, Hahn and Meeker, "Statistical
    Intervals" (1991), section 5.2. Durations that depend on each other count for fewer, and those
    of one launch are as much faster or slower as processes may be in one of twenty cases.
    """
    count = durations.count
    worth = max(1, min(count, math.floor(durations.effective or count)))
    spread = durations.process_spread if len(durations.launches) == 1 else None
    process = math.exp(_NORMAL_90 * (spread or 0.0))
    sure, possible = (
        durations.beyond(level.limit_s * factor) * worth / count
        for factor in (process, 1 / process)
    )
    allowed = 1 - level.fraction
    most = at_least_chance(worth, math.floor(sure), allowed)
    return most, at_least_chance(worth, math.ceil(possible) + 1, allowed)


def at_least_chance(count: int, least: int, probability: float) -> float:
    """The chance of at least so many successes of independent trials."""
    if least <= 0:
        return 1.0
    odds, none = math.log(probability / (1 - probability)), count * math.log1p(-probability)
    ways = (
        math.lgamma(count + 1) - math.lgamma(number + 1) - math.lgamma(count - number + 1)
        for number in range(least, count + 1)
    )
    return sum(math.exp(way + none + number * odds) for number, way in enumerate(ways, least))


def _resampled(level: ServiceLevel, fraction: float, durations: MeasuredDurations) -> float:
    """The share of resamples of raw durations whose percentile keeps the limit.

    Launches are drawn with replacement (the cluster bootstrap of Davison and Hinkley 1997, section
    3.8), and in each blocks of neighbouring durations, as long as these depend on each other
    (Künsch 1989). One launch says nothing of other processes: its durations are scaled by the
    host's known spread.
    """
    count = durations.count
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
        kept += sum(_keeps(launches, blocks, fraction, chance) for _ in range(per_factor))
    return kept / (per_factor * len(factors))


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
    interval = latency_ms.interval
    if interval and interval.low > level.limit_s * 1e3:
        return SloChance(_RARE, "the predicted p50", latency_ms.value / 1e3, "p50")
    if len(variations) < LEAST_LIKE_CELLS:
        least = f"at least {LEAST_LIKE_CELLS} measured cells of this backend and runtime"
        return SloChance(None, f"the spread of durations takes {least}, not {len(variations)}")
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
