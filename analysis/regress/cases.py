"""Cases: pairs of results with the history of their series, and the noise of their difference."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean

from analysis.regress.launches import (
    LaunchedResult,
    PastResult,
    SeriesKey,
    histories,
    launched_results,
)
from analysis.regress.matches import Pair
from analysis.regress.noise import LOOKS, are_paired, noise_between
from analysis.regress.steps import Levels, levels_of
from analysis.regress.verdicts import LevelShift
from analysis.results.metrics import Metric
from analysis.results.selection import Side
from analysis.results.series import AcceptedChange
from analysis.statistics.significance import LaunchSamples
from analysis.statistics.variance import VarianceComponents, variance_components


@dataclass(frozen=True)
class SeriesRules:
    """The rules that hold for all series of a question."""

    threshold: float
    """The least relative change that matters."""
    per_host: bool
    """True if machines with different names have series of their own."""
    accepted: tuple[AcceptedChange, ...]


@dataclass(frozen=True)
class Case:
    """Two results of one series, and what is known of it."""

    before: LaunchedResult
    after: LaunchedResult
    levels: Levels
    """The history of the series up to the later result, divided at its steps."""
    difference: LevelShift | None
    """None where nothing tells the noise."""
    accepted: str | None = None
    """The reason why somebody accepted the step that begins with the later result."""

    @property
    def paired(self) -> bool:
        """True if the launches of both took turns."""
        return are_paired(self.before, self.after)

    @property
    def samples(self) -> LaunchSamples:
        """The launches of both, with the variance that other launches of the series tell."""
        sides = self.before.logarithms, self.after.logarithms
        if self.paired:
            return LaunchSamples(*sides, paired=True, looks=len(LOOKS))
        known = self._others
        return LaunchSamples(
            *sides,
            variance=known.within if known else 0.0,
            degrees=known.within_degrees if known else 0,
        )

    @cached_property
    def _others(self) -> VarianceComponents | None:
        """The variance of launches in the other results of the series."""
        judged = {side.facts["result_id"] for side in (self.before, self.after)}
        return variance_components(
            [past.logarithms for past in level if past.result_id not in judged]
            for level in self.levels.results
        )


def cases_of(
    sides: tuple[Side, Side], metric: Metric, pairs: Sequence[Pair], rules: SeriesRules
) -> Iterator[Case]:
    """The pairs with what the databases of both sides know of their series.

    Where a change of the level was accepted between both results, the first result at the new level
    stands in the place of the earlier one.

    Args:
        sides: the earlier side and the later one, which is judged.
        metric: the metric of the pairs.
        pairs: results of both sides.
        rules: what holds for all series.
    """
    wanted = [pair.after for pair in pairs]
    known = _histories(sides, metric, wanted, per_host=rules.per_host)
    restarts = _Restarts(sides, metric, rules)
    for pair in pairs:
        key = pair.after.key(per_host=rules.per_host)
        history = _until(pair.after, known.get(key, []))
        reasons = restarts.reasons(pair.after.cell_id)
        before = restarts.baseline(pair, history, reasons) or pair.before
        yield case_of(before, pair.after, history, reasons, rules.threshold)


def case_of(
    before: LaunchedResult,
    after: LaunchedResult,
    history: Sequence[PastResult],
    reasons: Mapping[str, str],
    threshold: float,
) -> Case:
    """The case of two results of a series.

    Args:
        before: the earlier result.
        after: the later one.
        history: the results of the series up to the later one.
        reasons: reasons of accepted changes by the run that begins the level.
        threshold: the least relative change that matters.
    """
    levels = levels_of(history, reasons, threshold)
    difference = _difference(before, after, levels)
    return Case(before, after, levels, difference, reasons.get(after.facts["run_id"]))


def _histories(
    sides: tuple[Side, Side], metric: Metric, wanted: Sequence[LaunchedResult], *, per_host: bool
) -> Mapping[SeriesKey, Sequence[PastResult]]:
    """The results of these series in both databases, in the order of time."""
    base, run = sides
    of_run = histories(run.source, run.history, metric, wanted, per_host=per_host)
    if base.source is run.source:
        return of_run
    of_base = histories(base.source, base.history, metric, wanted, per_host=per_host)
    both: dict[SeriesKey, Sequence[PastResult]] = {}
    for key in {*of_base, *of_run}:
        results = (*of_base.get(key, ()), *of_run.get(key, ()))
        once = {past.result_id: past for past in results}
        both[key] = sorted(once.values(), key=lambda past: (past.measured_at, past.result_id))
    return both


def _until(after: LaunchedResult, history: Sequence[PastResult]) -> list[PastResult]:
    """The history up to this result, which is its last one."""
    moment = (after.facts["measured_at"], after.facts["result_id"])
    if moment[0] is None:
        return []
    return [past for past in history if (past.measured_at, past.result_id) <= moment]


def _difference(before: LaunchedResult, after: LaunchedResult, levels: Levels) -> LevelShift | None:
    """The difference of both, with the noise that the series has without the judged result."""
    judged = after.facts["result_id"]
    others = [
        remaining
        for level in levels.results
        if (remaining := [past for past in level if past.result_id != judged])
    ]
    noise = noise_between(before, after, others)
    if noise is None:
        return None
    shift = fmean(after.logarithms) - fmean(before.logarithms)
    return LevelShift(shift, (len(before.launches), len(after.launches)), noise)


class _Restarts:
    """Levels that somebody accepted, with the results that begin them."""

    def __init__(self, sides: tuple[Side, Side], metric: Metric, rules: SeriesRules) -> None:
        self._sides = sides
        self._metric = metric
        self._rules = rules
        self._known: dict[str, dict[SeriesKey, LaunchedResult]] = {}

    def reasons(self, cell_id: str) -> Mapping[str, str]:
        """The reasons of accepted changes of this cell, by the run that begins the level."""
        accepted = self._rules.accepted
        return {one.run_id: one.because for one in accepted if cell_id in one.cell_ids}

    def baseline(
        self, pair: Pair, history: Sequence[PastResult], reasons: Mapping[str, str]
    ) -> LaunchedResult | None:
        """The result that begins the newest accepted level between both; None without one."""
        since = pair.before.facts["measured_at"]
        between = [
            past.run_id
            for past in history[:-1]
            if past.run_id in reasons and since is not None and past.measured_at > since
        ]
        if not between:
            return None
        return self._first_of(between[-1]).get(pair.after.key(per_host=self._rules.per_host))

    def _first_of(self, run_id: str) -> Mapping[SeriesKey, LaunchedResult]:
        if run_id not in self._known:
            self._known[run_id] = {
                one.key(per_host=self._rules.per_host): one
                for side in self._sides  # what the judged side says comes last and counts
                for one in launched_results(
                    side.source, replace(side.history, run_id=run_id), self._metric
                )
            }
        return self._known[run_id]
