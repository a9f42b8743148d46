"""Cases: results of two sides that are of one series, and the noise of their difference."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean
from typing import Any, TypeAlias

from analysis.compare.circumstances import hardware_differences
from analysis.compare.runs import CellVerdict
from analysis.compare.values import PART
from analysis.regress.launches import (
    LaunchedResult,
    PastResult,
    SeriesKey,
    histories,
    launched_results,
)
from analysis.regress.noise import noise_between, noise_of_pair
from analysis.regress.steps import Levels, levels_of
from analysis.regress.verdicts import LevelShift, VerdictReason
from analysis.results.metrics import Metric
from analysis.results.paired import paired_values
from analysis.results.selection import Side
from analysis.results.series import COMPARABLE, MODEL, SERIES, AcceptedChange
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import THRESHOLD
from analysis.statistics.significance import LaunchSamples
from analysis.statistics.variance import variance_components

_WORDS: Mapping[str, str] = {
    "model_id": "model configuration",
    "weights_revision": "weights' revision",
    "weights_seed": "seed of the weights",
    "hardware_id": "hardware",
    "timed_region": "timed region",
    "container_cpu_limit": "CPU limit",
    **COMPARABLE,
}
SHORT_HASH = 12
"""Letters of a hash that are shown."""
_HASHES = frozenset({"model_id", "hardware_id", "weights_revision"})
SideVerdicts: TypeAlias = Sequence[Mapping[str, CellVerdict]]
"""The verdicts of two sides, the earlier one's first, by cell id."""


@dataclass(frozen=True)
class RegressionQuestion:
    """Two sides, and what counts as a change."""

    base: Side
    run: Side
    """The side that is judged; the history of its series lies in its database."""
    metrics: tuple[Metric, ...]
    threshold: float = THRESHOLD
    per_host: bool = False
    """True if machines with different names have series of their own."""
    by_name: bool = False
    """True if results of two models of one name are compared where there are none of one series,
    as is done for a run and the baseline that was measured beside it."""
    accepted: tuple[AcceptedChange, ...] = ()

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.base, self.run


@dataclass(frozen=True)
class Refusal:
    """A cell of both sides that is not judged."""

    cell_id: str
    reason: VerdictReason
    before: LaunchedResult | None = None
    after: LaunchedResult | None = None


@dataclass(frozen=True)
class Matches:
    """The results of two sides by series, and the cells that cannot be compared."""

    pairs: tuple[tuple[LaunchedResult, LaunchedResult], ...]
    refusals: tuple[Refusal, ...]
    only_before: frozenset[str]
    only_after: frozenset[str]


def matches_of(question: RegressionQuestion, verdicts: SideVerdicts, metric: Metric) -> Matches:
    earlier, later = (
        launched_results(side.source, side.selection, metric) for side in question.sides
    )
    by_cell: dict[tuple[str, object], list[LaunchedResult]] = defaultdict(list)
    for one in earlier:
        by_cell[one.cell_id, one.facts[PART]].append(one)
    pairs, refusals = [], []
    for after in later:
        candidates = by_cell.get((after.cell_id, after.facts[PART]), [])
        before = _counterpart(after, candidates, question)
        if before is not None:
            pairs.append((before, after))
        elif candidates:
            newest = candidates[-1]
            words = {"differences": _series_differences(newest, after, per_host=question.per_host)}
            reason = VerdictReason("other_series", facts=words)
            refusals.append(Refusal(after.cell_id, reason, newest, after))
    values = [{one.cell_id for one in side} for side in (earlier, later)]
    then, now = ({*known, *having} for known, having in zip(verdicts, values, strict=True))
    return Matches(
        pairs=tuple(pairs),
        refusals=(
            *refusals,
            *_without_value(verdicts, values, [side.lacks for side in question.sides]),
        ),
        only_before=frozenset(then - now),
        only_after=frozenset(now - then),
    )


def _counterpart(
    after: LaunchedResult, candidates: Sequence[LaunchedResult], question: RegressionQuestion
) -> LaunchedResult | None:
    """The newest result of the same series, else that of another model which may be compared."""
    newest, per_host = [*reversed(candidates)], question.per_host
    key = after.key(per_host=per_host)
    if same := next((one for one in newest if one.key(per_host=per_host) == key), None):
        return same
    names = {*_series_columns(per_host=per_host)}.difference(MODEL)
    beside = after.facts["interleaved_with"]
    return next(
        (
            one
            for one in newest
            if (question.by_name or (beside is not None and beside == one.facts["run_id"]))
            and all(one.facts[name] == after.facts[name] for name in names)
        ),
        None,
    )


def _series_columns(*, per_host: bool) -> Sequence[str]:
    return (*SERIES, *COMPARABLE, *(["hostname"] if per_host else []))


def _series_differences(before: LaunchedResult, after: LaunchedResult, *, per_host: bool) -> str:
    return ", ".join(
        f"another {_WORDS.get(name, name)}: {_difference(name, before.facts, after.facts)}"
        for name in _series_columns(per_host=per_host)
        if before.facts[name] != after.facts[name]
    )


def _difference(name: str, then: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    device = then["hardware"]
    is_alike = name == "hardware_id" and device and device == now["hardware"]
    if is_alike and (behind := "; ".join(hardware_differences(then, now))):
        return f"{device} with {behind}"
    return f"{_shown(name, then)}, now {_shown(name, now)}"


def _shown(name: str, facts: Mapping[str, Any]) -> str:
    value = str(facts[name])
    if name == "hardware_id" and facts["hardware"]:
        return f"{facts['hardware']} ({value[:SHORT_HASH]})"
    return value[:SHORT_HASH] if name in _HASHES else value


def _without_value(
    verdicts: SideVerdicts, values: Sequence[set[str]], lacks: Sequence[str | None]
) -> Iterator[Refusal]:
    """Cells of both sides of which one side alone has a value."""
    then, now = verdicts
    for cell_id in sorted(then.keys() & now.keys()):
        had, has = (cell_id in side for side in values)
        if had == has:
            continue
        if then[cell_id].kind != now[cell_id].kind:
            words = {"then": then[cell_id].words, "now": now[cell_id].words}
            yield Refusal(cell_id, VerdictReason("other_verdict", facts=words))
        else:
            code = "no_value_before" if has else "no_value_now"
            yield Refusal(cell_id, VerdictReason(code, lacks=lacks[0 if has else 1]))


@dataclass(frozen=True)
class Case:
    """Two results of one series, and what is known of it."""

    before: LaunchedResult
    after: LaunchedResult
    levels: Levels
    """The history of the series up to the later result, divided at its steps."""
    difference: LevelShift | None
    accepted: str | None = None
    pair: PairedRatio | None = None
    """The ratio of the later value to the earlier one, where they were measured side by side."""

    @property
    def tells_by_launches(self) -> bool:
        """True if its launches alone, whatever their distribution, could show a difference."""
        return self.pair is None and self.samples.can_decide

    @cached_property
    def samples(self) -> LaunchSamples:
        """The launches of both, with the variance that other launches of the series tell."""
        sides = self.before.logarithms, self.after.logarithms
        judged = {side.facts["result_id"] for side in (self.before, self.after)}
        others = variance_components(
            [past.logarithms for past in level if past.result_id not in judged]
            for level in self.levels.results
        )
        if others is None:
            return LaunchSamples(*sides)
        return LaunchSamples(*sides, variance=others.within, degrees=others.within_degrees)


def cases_of(
    question: RegressionQuestion,
    metric: Metric,
    pairs: Sequence[tuple[LaunchedResult, LaunchedResult]],
) -> Iterator[Case]:
    """The pairs, results of both sides, with what their databases know of their series.

    Where a change of the level was accepted between both results, the first result at the new level
    stands in the place of the earlier one.
    """
    sides, per_host = question.sides, question.per_host
    known = _histories(sides, metric, [after for _, after in pairs], per_host=per_host)
    firsts: dict[str, Mapping[SeriesKey, LaunchedResult]] = {}
    beside = [one.result_id for pair in pairs for one in pair if one.facts["looks"]]
    ratios = paired_values(question.run.source, beside, metric)
    for earlier, after in pairs:
        key, since = after.key(per_host=per_host), earlier.facts["measured_at"]
        history = _until(after, known.get(key, []))
        reasons = {
            one.run_id: one.because for one in question.accepted if after.cell_id in one.cell_ids
        }
        restarts = [
            past.run_id
            for past in history[:-1]
            if past.run_id in reasons and since is not None and past.measured_at > since
        ]
        before = earlier
        if restarts:
            run_id = restarts[-1]
            if run_id not in firsts:
                firsts[run_id] = _results_of_run(sides, run_id, metric, per_host=per_host)
            before = firsts[run_id].get(key, earlier)
        pair = ratios.get((after.result_id, before.result_id)) or _by_launches(before, after)
        yield case_of(before, after, history, reasons, question.threshold, pair)


def case_of(
    before: LaunchedResult,
    after: LaunchedResult,
    history: Sequence[PastResult],
    reasons: Mapping[str, str],
    threshold: float,
    pair: PairedRatio | None = None,
) -> Case:
    """The case of two results of a series, whose noise is that without the judged result.

    The history ends with the later result; `reasons` are those of accepted changes, by the run that
    begins the level.
    """
    levels = levels_of(history, reasons, threshold)
    accepted = reasons.get(after.facts["run_id"])
    if pair is not None:
        rounds = len(pair.logarithms)
        shift = LevelShift(fmean(pair.logarithms), (rounds, rounds), noise_of_pair(pair))
        return Case(before, after, levels, shift, accepted, pair)
    judged = after.facts["result_id"]
    others = ([past for past in level if past.result_id != judged] for level in levels.results)
    noise = noise_between(before, after, [*filter(None, others)])
    difference = None
    if noise is not None:
        moved = fmean(after.logarithms) - fmean(before.logarithms)
        difference = LevelShift(moved, (len(before.launches), len(after.launches)), noise)
    return Case(before, after, levels, difference, accepted)


def _by_launches(before: LaunchedResult, after: LaunchedResult) -> PairedRatio | None:
    """The ratio of what no burst tells, round by round; None where they were measured apart."""
    group, looks = after.facts["side_by_side"], after.facts["looks"]
    rounds = len(after.launches)
    if group is None or group != before.facts["side_by_side"] or len(before.launches) != rounds:
        return None
    pairs = zip(before.logarithms, after.logarithms, strict=True)
    ratio = PairedRatio(tuple(later - earlier for earlier, later in pairs), tuple(looks))
    return ratio if rounds > 1 else None


def _histories(
    sides: tuple[Side, Side], metric: Metric, wanted: Sequence[LaunchedResult], *, per_host: bool
) -> Mapping[SeriesKey, Sequence[PastResult]]:
    base, run = sides
    of_run = histories(run.source, run.history, metric, wanted, per_host=per_host)
    if base.source is run.source:
        return of_run
    of_base = histories(base.source, base.history, metric, wanted, per_host=per_host)
    both: dict[SeriesKey, Sequence[PastResult]] = {}
    for key in {*of_base, *of_run}:
        once = {past.result_id: past for past in (*of_base.get(key, ()), *of_run.get(key, ()))}
        both[key] = sorted(once.values(), key=lambda past: (past.measured_at, past.result_id))
    return both


def _until(after: LaunchedResult, history: Sequence[PastResult]) -> list[PastResult]:
    moment = (after.facts["measured_at"], after.facts["result_id"])
    if moment[0] is None:
        return []
    return [past for past in history if (past.measured_at, past.result_id) <= moment]


def _results_of_run(
    sides: tuple[Side, Side], run_id: str, metric: Metric, *, per_host: bool
) -> Mapping[SeriesKey, LaunchedResult]:
    """The results of a run by series; what the judged side says comes last and counts."""
    return {
        one.key(per_host=per_host): one
        for side in sides
        for one in launched_results(side.source, replace(side.history, run_id=run_id), metric)
    }
