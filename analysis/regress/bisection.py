"""Bisection: which versions to measure again, to find the one that brought a change.

Each half of the versions is left out by one measurement of the version in the middle, so that n of
them take the logarithm of n to the base 2 (binary search: Knuth, "The Art of Computer Programming",
volume 3, 2nd edition (1998), section 6.2.1). What a measurement leaves open leaves out none: its
neighbours are measured instead, and the answer may be several versions.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from itertools import groupby
from statistics import fmean
from typing import Literal, Self, TypeAlias

from analysis.compare.circumstances import DIRTY
from analysis.compare.values import PART
from analysis.regress.launches import LaunchedResult, PastResult, launched_results
from analysis.regress.noise import noise_between
from analysis.regress.verdicts import LevelShift
from analysis.results.metrics import Metric
from analysis.results.selection import Selection
from analysis.results.source import ArrowSource, text
from analysis.statistics.significance import LEVEL, student_quantile

VersionOutcome: TypeAlias = Literal["good", "bad", "unclear"]
MOST_TRIES = 2
"""Measurements of a version, together, after which it stays unclear."""
_SHOWN_SHARE = 0.5
"""Least share of the recorded change that must show again."""
_TOGETHER = timedelta(days=1)
"""The longest time between results that are compared as measured again together."""


@dataclass(frozen=True)
class Version:
    """The software of results of a series that were measured one behind the other."""

    name: str
    """The digest of the image, or the commit where jobs were processes of this machine."""
    results: tuple[LaunchedResult, ...]

    @property
    def first(self) -> LaunchedResult:
        return self.results[0]

    @property
    def run_id(self) -> str:
        return self.first.run_id

    @property
    def commit(self) -> str | None:
        commit: str | None = self.first.facts["git_commit"]
        return commit


def results_by_cell(
    source: ArrowSource, selection: Selection, metric: Metric, cell_ids: Iterable[str]
) -> dict[str, list[LaunchedResult]]:
    """The selected results of these cells, of whichever run, each in the order of time."""
    names = ", ".join(map(text, sorted(cell_ids)))
    condition = f"({selection.condition}) AND r.cell_id IN ({names})"
    every = replace(selection, condition=condition, run_id=None, every=True)
    by_cell: dict[str, list[LaunchedResult]] = {}
    for result in launched_results(source, every, metric):
        by_cell.setdefault(result.cell_id, []).append(result)
    return by_cell


def grouped_versions(results: Iterable[LaunchedResult]) -> tuple[Version, ...]:
    """The versions of these results in the order of time; one that came back is there twice."""
    named = [(name, result) for result in results if (name := _version_name(result))]
    return tuple(
        Version(name, tuple(result for _, result in group))
        for name, group in groupby(named, key=lambda pair: pair[0])
    )


def _version_name(result: LaunchedResult) -> str:
    """The digest of the image of a result, else the commit; empty if it names neither."""
    name: str = result.facts["image_digest"] or result.facts["git_commit"] or ""
    return name


def measured_again(
    results: Iterable[LaunchedResult], versions: Iterable[Version], since: LaunchedResult
) -> dict[str, tuple[LaunchedResult, ...]]:
    """Results of these versions after the one that gave rise to the question, by version's name.

    They are those of one series and of one day, which can be compared with each other: those of the
    newest. A commit whose checkout had changes is measured again by its checkout without them.
    """
    known = list(versions)
    names = {version.name.removesuffix(DIRTY): version.name for version in known}
    names |= {version.name: version.name for version in known}
    later: list[tuple[str, LaunchedResult]] = []
    for result in results:
        own, moment = _version_name(result), result.facts["measured_at"]
        name = names.get(own, names.get(own.removesuffix(DIRTY)))
        is_later = moment is not None and moment > since.facts["measured_at"]
        if name is not None and is_later and result.facts[PART] == since.facts[PART]:
            later.append((name, result))
    if not later:
        return {}
    later.sort(key=lambda pair: pair[1].facts["measured_at"])
    newest = later[-1][1]
    key, oldest = newest.key(per_host=True), newest.facts["measured_at"] - _TOGETHER
    by_version: dict[str, tuple[LaunchedResult, ...]] = {}
    for name, result in later:
        if result.key(per_host=True) == key and result.facts["measured_at"] >= oldest:
            by_version[name] = (*by_version.get(name, ()), result)
    return by_version


def pooled(results: Sequence[LaunchedResult]) -> LaunchedResult:
    if len(results) == 1:
        return results[0]
    launches = tuple(value for result in results for value in result.launches)
    value = math.exp(fmean(map(math.log, launches)))
    worst = max(result.grade for result in results)
    return LaunchedResult({**results[0].facts, "grade": worst}, value, launches)


@dataclass(frozen=True)
class Search:
    """A search among versions in the order of time: those at its ends are known."""

    first: int
    last: int
    outcomes: Mapping[int, VersionOutcome] = field(default_factory=dict)
    """Outcomes of versions between; `unclear` ones are not to be measured again."""

    @property
    def good(self) -> int:
        return max(self._between("good"), default=self.first)

    @property
    def bad(self) -> int:
        good = self.good
        return min((index for index in self._between("bad") if index > good), default=self.last)

    @property
    def suspects(self) -> range:
        return range(self.good + 1, self.bad + 1)

    @property
    def next(self) -> int | None:
        """The middle, or the nearest to it that can be judged; None if nothing is left."""
        good, bad = self.good, self.bad
        untried = (index for index in range(good + 1, bad) if index not in self.outcomes)
        return min(untried, key=lambda index: (abs(2 * index - good - bad), index), default=None)

    @property
    def most_left(self) -> int:
        return (len(self.suspects) - 1).bit_length()

    @property
    def turns(self) -> Mapping[int, int]:
        turns: dict[int, int] = {}
        pending: list[tuple[Search, int]] = [(self, 1)]
        while pending:
            search, turn = pending.pop()
            if (index := search.next) is not None:
                turns[index] = turn
                sides: tuple[VersionOutcome, ...] = ("good", "bad")
                pending += ((search.knowing(index, side), turn + 1) for side in sides)
        return turns

    def knowing(self, index: int, outcome: VersionOutcome) -> Self:
        return replace(self, outcomes={**self.outcomes, index: outcome})

    def _between(self, wanted: VersionOutcome) -> Iterable[int]:
        return (
            index
            for index, outcome in self.outcomes.items()
            if outcome == wanted and self.first < index < self.last
        )


@dataclass(frozen=True)
class Bisection:
    """The versions between a good and a bad result of a series, and what is known of them."""

    versions: tuple[Version, ...]
    """In the order of time, two at least: the first is good, the last is bad."""
    more_is_better: bool
    levels: tuple[tuple[PastResult, ...], ...] = ()
    """Earlier results of the series in groups with no step between them: they tell its noise."""
    again: Mapping[str, tuple[LaunchedResult, ...]] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def is_shown_again(self) -> bool | None:
        """True if the ends differ again now that they were measured anew; None before that."""
        return self._differ_again(*self.ends)

    @cached_property
    def search(self) -> Search:
        first, last = self.ends
        if not self.is_shown_again:
            return Search(first, last)
        known = {index: self._outcome_again(index) for index in range(first + 1, last)}
        outcomes = {index: outcome for index, outcome in known.items() if outcome is not None}
        return Search(first, last, outcomes)

    @property
    def next(self) -> Version | None:
        """The version to measure next, both ends first: what differs by the machine alone goes."""
        for index in self.ends:
            if not self._results(index):
                is_refused = self.versions[index].name in self.refused
                return None if is_refused else self.versions[index]
        between = self.search.next if self.is_shown_again else None
        return None if between is None else self.versions[between]

    @property
    def suspects(self) -> tuple[Version, ...]:
        return tuple(self.versions[index] for index in self.search.suspects)

    @property
    def before_suspects(self) -> Version:
        return self.versions[self.search.good]

    @property
    def most_left(self) -> int:
        return 0 if self.next is None else len(self._ends_left) + self.search.most_left

    @property
    def turns(self) -> Mapping[int, int]:
        """The turn at which each version would be measured next, counted from 1."""
        if self.next is None:
            return {}
        ends = self._ends_left
        known = {index: turn for turn, index in enumerate(ends, start=1)}
        return known | {index: turn + len(ends) for index, turn in self.search.turns.items()}

    @property
    def _ends_left(self) -> list[int]:
        return [index for index in self.ends if not self._results(index)]

    @cached_property
    def recorded_outcomes(self) -> Mapping[int, VersionOutcome]:
        """The outcomes that the recorded results tell, the ends among them."""
        good, *between, bad = (pooled(version.results) for version in self.versions)
        outcomes: list[VersionOutcome] = [self._outcome(one, good, bad) for one in between]
        return dict(enumerate(["good", *outcomes, "bad"]))

    def outcome_again(self, index: int) -> VersionOutcome | None:
        if not self._results(index) or not self.is_shown_again:
            return None
        search = self.search
        if index in {search.first, search.last}:
            return "good" if index == search.first else "bad"
        return search.outcomes.get(index, "unclear")

    def knowing(self, version: Version, result: LaunchedResult) -> Self:
        results = (*self.again.get(version.name, ()), result)
        return replace(self, again={**self.again, version.name: results})

    def refusing(self, version: Version, reason: str) -> Self:
        return replace(self, refused={**self.refused, version.name: reason})

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The ends of the search: those that the recorded results tell, unless they mislead."""
        widest = 0, len(self.versions) - 1
        narrowed = Search(*widest, self.recorded_outcomes)
        ends = narrowed.good, narrowed.bad
        return widest if self._differ_again(*ends) is False else ends

    def _results(self, index: int) -> Sequence[LaunchedResult]:
        return self.again.get(self.versions[index].name, ())

    def _differ_again(self, good: int, bad: int) -> bool | None:
        if not self._results(good) or not self._results(bad):
            return None
        before, after = pooled(self._results(good)), pooled(self._results(bad))
        noise = noise_between(before, after, self.levels)
        if noise is None:
            return False
        shift = _level(after) - _level(before)
        then, now = (pooled(self.versions[index].results) for index in (good, bad))
        is_worse = (shift < 0) == self.more_is_better
        is_large = abs(shift) >= _SHOWN_SHARE * abs(_level(now) - _level(then))
        counts = len(before.launches), len(after.launches)
        return is_worse and is_large and LevelShift(shift, counts, noise).exceeds_noise

    def _outcome_again(self, index: int) -> VersionOutcome | None:
        name, results = self.versions[index].name, self._results(index)
        if not results:
            return "unclear" if name in self.refused else None
        good, bad = (pooled(self._results(end)) for end in self.ends)
        outcome = self._outcome(pooled(results), good, bad)
        may_tell_more = len(results) < MOST_TRIES and name not in self.refused
        return None if outcome == "unclear" and may_tell_more else outcome

    def _outcome(
        self, now: LaunchedResult, good: LaunchedResult, bad: LaunchedResult
    ) -> VersionOutcome:
        """The end of a result, beyond noise; with half of the change it is bad: the rest came
        later.
        """
        noise = noise_between(good, now, self.levels)
        if noise is None:
            return "unclear"
        spread = noise.difference(len(good.launches) + len(bad.launches), len(now.launches))
        beyond = _level(now) - (_level(good) + _level(bad)) / 2
        if abs(beyond) <= student_quantile(1 - LEVEL, spread.degrees) * spread.error:
            return "unclear"
        return "bad" if (beyond < 0) == self.more_is_better else "good"


def _level(result: LaunchedResult) -> float:
    return fmean(result.logarithms)
