"""Bisection: which versions to measure again, to find the one that brought a change.

Each half of the versions is left out by one measurement of the version in the middle, so that n of
them take the logarithm of n to the base 2 (binary search: Knuth, "The Art of Computer Programming",
volume 3, 2nd edition (1998), section 6.2.1). What a measurement leaves open leaves out none: its
neighbours are measured instead, and the answer may be several versions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from statistics import fmean
from typing import Literal, Self, TypeAlias

from analysis.regress.launches import LaunchedResult, PastResult
from analysis.regress.noise import noise_between
from analysis.regress.software_versions import Version, pooled
from analysis.regress.verdicts import LevelShift
from analysis.statistics.significance import LEVEL, student_quantile

VersionOutcome: TypeAlias = Literal["good", "bad", "unclear"]
MOST_TRIES = 2
"""Measurements of a version, together, after which it stays unclear."""
_SHOWN_SHARE = 0.5
"""Least share of the recorded change that must show again."""


@dataclass(frozen=True)
class Search:
    """A search among versions in the order of time: those at its ends are known."""

    first: int
    """A version without the change."""
    last: int
    """A later one that has it."""
    outcomes: Mapping[int, VersionOutcome] = field(default_factory=dict)
    """Outcomes of versions between; `unclear` ones are not to be measured again."""

    @property
    def good(self) -> int:
        """The newest version that is known to be good."""
        known = (index for index, outcome in self._between if outcome == "good")
        return max(known, default=self.first)

    @property
    def bad(self) -> int:
        """The oldest version behind that one that is known to be bad."""
        known = (index for index, outcome in self._between if outcome == "bad")
        return min((index for index in known if index > self.good), default=self.last)

    @property
    def suspects(self) -> range:
        """Those among which is the one that brought the change."""
        return range(self.good + 1, self.bad + 1)

    @property
    def next(self) -> int | None:
        """The one to be measured next: the middle, or the nearest to it that can be judged.

        None if there is nothing left to measure.
        """
        good, bad = self.good, self.bad
        untried = (index for index in range(good + 1, bad) if index not in self.outcomes)
        return min(untried, key=lambda index: (abs(2 * index - good - bad), index), default=None)

    @property
    def most_left(self) -> int:
        """The most measurements that it takes, if none leaves its version unclear."""
        return (len(self.suspects) - 1).bit_length()

    @property
    def turns(self) -> Mapping[int, int]:
        """The turn at which each version would be measured, counted from 1, if it is at all."""
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
        """The search with what was found of one more version."""
        return replace(self, outcomes={**self.outcomes, index: outcome})

    @property
    def _between(self) -> Iterable[tuple[int, VersionOutcome]]:
        known = self.outcomes.items()
        return [(index, outcome) for index, outcome in known if self.first < index < self.last]


@dataclass(frozen=True)
class Bisection:
    """The versions between a good and a bad result of a series, and what is known of them."""

    versions: tuple[Version, ...]
    """In the order of time, two at least: the first is good, the last is bad."""
    more_is_better: bool
    levels: tuple[tuple[PastResult, ...], ...] = ()
    """Earlier results of the series in groups with no step between them: they tell its noise."""
    again: Mapping[str, tuple[LaunchedResult, ...]] = field(default_factory=dict)
    """Results of versions that were measured again, by the versions' names."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Versions that could not be measured again, with the reason."""

    @cached_property
    def is_shown_again(self) -> bool | None:
        """True if the ends differ again now that they were measured anew; None before that."""
        return self._differ_again(*self.ends)

    @cached_property
    def search(self) -> Search:
        """The search, as far as it is."""
        first, last = self.ends
        if not self.is_shown_again:
            return Search(first, last)
        outcomes = {
            index: outcome
            for index in range(first + 1, last)
            if (outcome := self._outcome_again(index)) is not None
        }
        return Search(first, last, outcomes)

    @property
    def next(self) -> Version | None:
        """The version to measure next; None if there is none.

        Both ends come first: what differs by the machine alone differs no more.
        """
        for index in self.ends:
            if not self._results(index):
                is_refused = self.versions[index].name in self.refused
                return None if is_refused else self.versions[index]
        between = self.search.next if self.is_shown_again else None
        return None if between is None else self.versions[between]

    @property
    def suspects(self) -> tuple[Version, ...]:
        """The versions among which is the one that brought the change."""
        return tuple(self.versions[index] for index in self.search.suspects)

    @property
    def before_suspects(self) -> Version:
        """The newest version that is good."""
        return self.versions[self.search.good]

    @property
    def most_left(self) -> int:
        """The most measurements that are left, if none leaves its version unclear."""
        if self.next is None:
            return 0
        ends = sum(not self._results(index) for index in self.ends)
        return ends + self.search.most_left

    @property
    def turns(self) -> Mapping[int, int]:
        """The turn at which each version would be measured next, counted from 1."""
        if self.next is None:
            return {}
        ends = [index for index in self.ends if not self._results(index)]
        known = {index: turn for turn, index in enumerate(ends, start=1)}
        return known | {index: turn + len(ends) for index, turn in self.search.turns.items()}

    @cached_property
    def recorded_outcomes(self) -> Mapping[int, VersionOutcome]:
        """The outcomes that the recorded results tell, the ends among them."""
        last = len(self.versions) - 1
        ends = [pooled(self.versions[index].results) for index in (0, last)]
        between = {
            index: self._outcome(pooled(self.versions[index].results), *ends)
            for index in range(1, last)
        }
        return {0: "good", **between, last: "bad"}

    def outcome_again(self, index: int) -> VersionOutcome | None:
        """The outcome of measuring a version again; None if it was not."""
        if not self._results(index) or not self.is_shown_again:
            return None
        search = self.search
        if index in {search.first, search.last}:
            return "good" if index == search.first else "bad"
        return search.outcomes.get(index, "unclear")

    def knowing(self, version: Version, result: LaunchedResult) -> Self:
        """The bisection with one more result of a version that was measured again."""
        results = (*self.again.get(version.name, ()), result)
        return replace(self, again={**self.again, version.name: results})

    def refusing(self, version: Version, reason: str) -> Self:
        """The bisection without a version that cannot be measured again."""
        return replace(self, refused={**self.refused, version.name: reason})

    @cached_property
    def ends(self) -> tuple[int, int]:
        """The ends of the search: those that the recorded results tell, unless they mislead."""
        widest = 0, len(self.versions) - 1
        clear = {
            index: outcome
            for index, outcome in self.recorded_outcomes.items()
            if outcome != "unclear" and index not in widest
        }
        narrowed = Search(*widest, clear)
        ends = narrowed.good, narrowed.bad
        return widest if self._differ_again(*ends) is False else ends

    def _results(self, index: int) -> Sequence[LaunchedResult]:
        return self.again.get(self.versions[index].name, ())

    def _differ_again(self, good: int, bad: int) -> bool | None:
        """True if both were measured again and the change showed."""
        before, after = self._results(good), self._results(bad)
        if not before or not after:
            return None
        one, other = pooled(before), pooled(after)
        noise = noise_between(one, other, self.levels)
        if noise is None:
            return False
        shift = _level(other) - _level(one)
        counts = len(one.launches), len(other.launches)
        recorded = _level(pooled(self.versions[bad].results)) - _level(
            pooled(self.versions[good].results)
        )
        is_worse = (shift < 0) == self.more_is_better
        is_large = abs(shift) >= _SHOWN_SHARE * abs(recorded)
        return is_worse and is_large and LevelShift(shift, counts, noise).exceeds_noise

    def _outcome_again(self, index: int) -> VersionOutcome | None:
        """The outcome of a version between; None if measuring it may tell more."""
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
        """The end that a result belongs to: beyond the middle between both, by more than noise.

        A version that has half of the change is bad: the rest came later.
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
