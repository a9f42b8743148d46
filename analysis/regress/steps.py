"""Steps of a series, of itself or accepted by somebody, and the band of values at each level."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import accumulate, pairwise
from statistics import fmean, median

from analysis.regress.launches import LEAST_HISTORY, PastResult
from analysis.regress.noise import RUN_PRIOR
from analysis.statistics.change_points import change_points
from analysis.statistics.ratios import Estimate
from analysis.statistics.significance import LEVEL, student_quantile
from analysis.statistics.variance import ShiftSpread, variance_components
from runner.contract.confidence import INTERVAL_CONFIDENCE


@dataclass(frozen=True)
class LevelStep:
    """A change of the level of a series."""

    first: PastResult
    ratio: Estimate
    """The level behind by the one before, with its 95 % interval."""
    accepted: str | None

    @property
    def run_id(self) -> str:
        return self.first.run_id

    @property
    def date(self) -> datetime:
        return self.first.measured_at


@dataclass(frozen=True)
class Levels:
    """A series, divided at its steps."""

    results: tuple[tuple[PastResult, ...], ...]
    steps: tuple[LevelStep, ...]
    """The step before each level but the first that is one."""


def levels_of(
    history: Sequence[PastResult], accepted: Mapping[str, str], threshold: float
) -> Levels:
    """The levels of a series: steps are those that the values show, and accepted ones.

    A change point counts as a step if it exceeds the noise within the levels and is not shown to be
    smaller than the threshold. The reasons of accepted changes are by the run that begins the
    level.
    """
    known = [index for index, past in enumerate(history) if index and past.run_id in accepted]
    borders = sorted({0, *known, *_change_indices(history), len(history)})
    parts = [history[start:end] for start, end in pairwise(borders)]
    while (weak := _weakest(parts, accepted, threshold)) is not None:
        parts[weak - 1 : weak + 1] = [[*parts[weak - 1], *parts[weak]]]
    steps = []
    for before, part in pairwise(parts):
        ratio = _interval(*_shift(before, part, parts))
        steps.append(LevelStep(part[0], ratio, accepted.get(part[0].run_id)))
    return Levels(tuple(map(tuple, parts)), tuple(steps))


def _change_indices(history: Sequence[PastResult]) -> Iterable[int]:
    """Indices of results before which the distribution of launches changes.

    Launches of a run share what the run has of its own, so runs are what may come in another order;
    where there are too few of them for a test, launches are.
    """
    runs = [past.logarithms for past in history]
    values = [value for run in runs for value in run]
    if len(values) < LEAST_HISTORY:
        return ()
    if len(runs) >= LEAST_HISTORY:
        return change_points(runs)
    firsts = [0, *accumulate(len(run) for run in runs)]
    changes = change_points([[value] for value in values], borders=firsts[:-1])
    return [firsts.index(change) for change in changes]


def _weakest(
    parts: Sequence[Sequence[PastResult]], accepted: Mapping[str, str], threshold: float
) -> int | None:
    """The index of the part with the smallest step before it that does not count; None without.

    Chance may find one at any border of results (Bonferroni).
    """
    weak = []
    borders = sum(map(len, parts)) - 1
    for index, (before, part) in enumerate(pairwise(parts), start=1):
        if part[0].run_id in accepted:
            continue
        shift, spread = _shift(before, part, parts)
        noise = student_quantile(1 - LEVEL / borders, spread.degrees) * spread.error
        if abs(shift) + _margin(spread) < math.log1p(threshold) or abs(shift) <= noise:
            weak.append((abs(shift), index))
    return min(weak)[1] if weak else None


def _shift(
    before: Sequence[PastResult], after: Sequence[PastResult], parts: Sequence[Sequence[PastResult]]
) -> tuple[float, ShiftSpread]:
    shift = _level(after) - _level(before)
    components = variance_components([[past.logarithms for past in part] for part in parts])
    if components is None:
        return shift, ShiftSpread(math.inf, 1)
    earlier, later = ([len(past.logarithms) for past in level] for level in (before, after))
    return shift, components.difference(earlier, later, RUN_PRIOR)


def _level(results: Iterable[PastResult]) -> float:
    return fmean(value for past in results for value in past.logarithms)


def _margin(spread: ShiftSpread) -> float:
    return student_quantile(INTERVAL_CONFIDENCE, spread.degrees) * spread.error


def _interval(middle: float, spread: ShiftSpread) -> Estimate:
    margin = _margin(spread)
    return Estimate(*(math.exp(value) for value in (middle, middle - margin, middle + margin)))


def bands_of(levels: Levels) -> tuple[Estimate | None, ...]:
    """The level of each part of a series, in their order, with the range of 95 of 100 further runs.

    They are prediction intervals for the mean of one more run with as many launches as the runs of
    the level usually have: Student's t times the standard error of its difference from the level's
    mean. The variance of launches and of runs is that of all levels together. None for all if the
    noise is not known.
    """
    results = levels.results
    components = variance_components([[past.logarithms for past in level] for level in results])
    if components is None:
        return (None,) * len(results)
    bands = []
    for level in results:
        launches = [len(past.logarithms) for past in level]
        spread = components.difference(launches, [round(median(launches))], RUN_PRIOR)
        bands.append(_interval(_level(level), spread))
    return tuple(bands)
