"""Judgements: a verdict for each cell of a run, against the same cells of a baseline."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from analysis.compare.circumstances import circumstance_changes, circumstances_of, common_changes
from analysis.compare.runs import cell_verdicts
from analysis.regress.cases import (
    SHORT_HASH,
    Case,
    Refusal,
    RegressionQuestion,
    cases_of,
    matches_of,
)
from analysis.regress.launches import LaunchedResult
from analysis.regress.noise import NoiseSource
from analysis.regress.steps import Levels, LevelStep
from analysis.regress.verdicts import (
    LevelShift,
    RegressionVerdict,
    VerdictReason,
    launches_to_decide,
    threshold_to_decide,
    verdict_on,
)
from analysis.results.metrics import Metric
from analysis.results.selection import metric_of_sides
from analysis.results.source import ArrowSource
from analysis.statistics.numbers import percent_text
from analysis.statistics.paired import PairedRatio
from analysis.statistics.ratios import PROMISES, Estimate, RatioOutcome, RatioOutcomeKind
from analysis.statistics.significance import adjusted_p_values, permutation_p_values

REGRESSION_VERDICTS: tuple[RegressionVerdict, ...] = (
    *("regression", "improvement", "inconclusive", "not comparable", "no change"),
)
_OUTCOMES: Mapping[RegressionVerdict, RatioOutcomeKind] = {
    "regression": "worse",
    "improvement": "better",
    "no change": "equal",
    "inconclusive": "undecided",
}
_WOULD_DECIDE = ("launches_would_decide", "rounds_would_decide")


@dataclass(frozen=True)
class Judgement:
    """The verdict on one metric of one cell."""

    cell_id: str
    metric: Metric
    verdict: RegressionVerdict
    explanation: VerdictReason | None
    before: LaunchedResult | None
    after: LaunchedResult | None
    case: Case | None = None
    """The results and the noise behind the verdict; None where the sides cannot be compared."""
    p_value: float | None = None
    """Adjusted for the other comparisons."""
    changes: tuple[str, ...] | None = None
    """The first candidates for the cause; None where records do not tell, and where nothing
    changed."""

    @property
    def outcome(self) -> RatioOutcome | None:
        """The verdict as other comparisons name it; None where nothing was compared."""
        kind, case = _OUTCOMES.get(self.verdict), self.case
        rounds = len(case.pair.logarithms) if case and case.pair else None
        if kind == "undecided" or (case and case.accepted is not None):
            code = self.explanation.code if self.explanation else None
            return RatioOutcome("undecided", code, rounds)
        return RatioOutcome(kind, rounds=rounds) if kind else None

    @property
    def reason(self) -> str:
        return self.explanation.words() if self.explanation else ""

    @property
    def launches_needed(self) -> int | None:
        """Launches a side, or rounds, that would decide; None where no number of them would."""
        reason = self.explanation
        if reason is None or reason.number is None or reason.code not in _WOULD_DECIDE:
            return None
        return int(reason.number)

    @property
    def facts(self) -> Mapping[str, Any]:
        """The facts of the later result, else of the earlier one, else those known of the cell."""
        result = self.after or self.before
        return result.facts if result else {"cell_id": self.cell_id}

    @property
    def model_change(self) -> tuple[str, str] | None:
        """The hashes of two models of one name, shortened; None if it is one, or a side unknown."""
        if self.before is None or self.after is None:
            return None
        for name in ("model_id", "weights_revision"):
            then, now = self.before.facts.get(name), self.after.facts.get(name)
            if then and now and then != now:
                return then[:SHORT_HASH], now[:SHORT_HASH]
        return None

    @property
    def difference(self) -> LevelShift | None:
        """The difference of both; None if its noise is not known, or they do not compare."""
        return self.case.difference if self.case else None

    @property
    def ratio(self) -> Estimate | None:
        return self.difference.ratio if self.difference else None

    @property
    def noise(self) -> str | None:
        return self.difference.noise.basis if self.difference else None

    @property
    def noise_source(self) -> NoiseSource | None:
        return self.difference.noise.source if self.difference else None

    @property
    def levels(self) -> Levels:
        return self.case.levels if self.case else Levels((), ())

    @property
    def steps(self) -> tuple[LevelStep, ...]:
        return self.levels.steps

    @property
    def values(self) -> tuple[float, ...]:
        results = (past.logarithms for level in self.levels.results for past in level)
        return tuple(math.exp(math.fsum(values) / len(values)) for values in results)


@dataclass(frozen=True)
class Judgements:
    """The verdicts on all cells of a run."""

    base: str
    run: str
    threshold: float
    judgements: tuple[Judgement, ...]
    """In the order of `REGRESSION_VERDICTS`, the greatest change first."""
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    @cached_property
    def counts(self) -> Mapping[RegressionVerdict, int]:
        verdicts = [judgement.verdict for judgement in self.judgements]
        return {verdict: verdicts.count(verdict) for verdict in REGRESSION_VERDICTS}

    @cached_property
    def shared_changes(self) -> tuple[str, ...]:
        """Other differences that all results have which did not stay the same."""
        return common_changes(one.changes for one in self.judgements if one.changes is not None)


def judge(question: RegressionQuestion) -> Judgements:
    """Judge each cell of a run, metric by metric; all share the null distribution of the test."""
    cases: list[tuple[Metric, Case]] = []
    judgements: list[Judgement] = []
    only_before, only_after = set[str](), set[str]()
    sides = question.sides
    verdicts = [cell_verdicts(side.source, side.selection) for side in sides]
    for metric in dict.fromkeys(metric_of_sides(one, *sides) for one in question.metrics):
        matches = matches_of(question, verdicts, metric)
        judgements += (_refused(metric, refusal) for refusal in matches.refusals)
        cases += ((metric, case) for case in cases_of(question, metric, matches.pairs))
        only_before |= matches.only_before
        only_after |= matches.only_after
    p_values = case_p_values([case for _, case in cases])
    judgements += (
        _judgement(question, metric, case, p_value)
        for (metric, case), p_value in zip(cases, p_values, strict=True)
    )
    return Judgements(
        base=question.base.label,
        run=question.run.label,
        threshold=question.threshold,
        judgements=tuple(sorted(_explained(question, judgements), key=_order)),
        only_before=tuple(sorted(only_before)),
        only_after=tuple(sorted(only_after)),
    )


def _order(judgement: Judgement) -> tuple[int, float, str, str]:
    size = abs(math.log(judgement.ratio.value)) if judgement.ratio else 0.0
    rank = REGRESSION_VERDICTS.index(judgement.verdict)
    return rank, -size, judgement.cell_id, judgement.metric.name


def _refused(metric: Metric, refusal: Refusal) -> Judgement:
    """No verdict; a side that tells more than this one could still bring one."""
    verdict: RegressionVerdict = "inconclusive" if refusal.reason.lacks else "not comparable"
    return Judgement(
        *(refusal.cell_id, metric, verdict, refusal.reason, refusal.before, refusal.after)
    )


def case_p_values(cases: Sequence[Case]) -> list[float]:
    """The p-value of each case: of its launches where they can decide, else of its noise alone.

    Either kind is adjusted by itself, since few launches reach no p-value that many comparisons of
    the other kind would ask for; the share of false discoveries among both is that of each.
    """
    by_launches = [index for index, case in enumerate(cases) if case.tells_by_launches]
    by_noise = [index for index, case in enumerate(cases) if not case.tells_by_launches]
    tested = permutation_p_values([cases[index].samples for index in by_launches])
    differences = [cases[index].difference for index in by_noise]
    other = [difference.p_value if difference else 1.0 for difference in differences]
    adjusted = (*adjusted_p_values(tested), *adjusted_p_values(other))
    known = dict(zip((*by_launches, *by_noise), adjusted, strict=True))
    return [known[index] for index in range(len(cases))]


def _judgement(
    question: RegressionQuestion, metric: Metric, case: Case, p_value: float
) -> Judgement:
    verdict: RegressionVerdict = "inconclusive"
    reason: VerdictReason | None = _objection(case)
    if case.accepted is not None:
        verdict, reason = "no change", VerdictReason("accepted", facts={"because": case.accepted})
    elif reason is None and case.difference is None:
        reason = VerdictReason("noise_unknown")
    elif reason is None and case.difference is not None:
        threshold, better = question.threshold, metric.more_is_better
        verdict = verdict_on(case.difference, p_value, threshold, more_is_better=better)
        if verdict == "inconclusive":
            reason = decider(case.difference, threshold, case.pair)
        elif verdict == "no change" and not case.pair:
            worse = max(case.before, case.after, key=lambda side: side.grade)
            if (promise := PROMISES[worse.grade]) > threshold:
                facts = {"grade": worse.grade, "run": worse.run_id}
                verdict = "inconclusive"
                reason = VerdictReason("grade_allows", 100 * promise, facts)
    if verdict == "inconclusive" and reason is not None:
        reason = replace(reason, lacks=question.base.lacks or question.run.lacks)
    return Judgement(
        *(case.after.cell_id, metric, verdict, reason, case.before, case.after),
        case=case,
        p_value=p_value,
    )


def _objection(case: Case) -> VerdictReason | None:
    """The reason why marks or grades allow no verdict; results side by side need no grade."""
    if marks := dict.fromkeys((*case.before.marks, *case.after.marks)):
        return VerdictReason("marked", facts={"marks": ", ".join(marks)})
    for code, side in (("grade_d", case.after), ("baseline_grade_d", case.before)):
        if side.grade == "D" and not case.pair:
            return VerdictReason(code, facts={"run": side.run_id})
    return None


def decider(
    difference: LevelShift, threshold: float, pair: PairedRatio | None = None
) -> VerdictReason:
    """Launches a side, or rounds side by side as far as so many are made, that would decide."""
    launches = launches_to_decide(difference, threshold)
    if pair and (launches is None or launches > pair.looks[-1]):
        enough, shown = threshold_to_decide(difference), percent_text(threshold)
        facts = {"most": f"{pair.looks[-1]}", "threshold": shown, "enough": f"{enough}"}
        return VerdictReason("rounds_would_not_decide", facts=facts)
    if launches is None:
        apart = difference.noise.difference(1_000, 1_000).error / math.sqrt(2)
        return VerdictReason("runs_apart", 100 * apart)
    return VerdictReason("rounds_would_decide" if pair else "launches_would_decide", launches)


def _explained(question: RegressionQuestion, judgements: Iterable[Judgement]) -> list[Judgement]:
    known = list(judgements)
    changed = [one for one in known if one.verdict != "no change" and one.before and one.after]
    before = _circumstances(question.base.source, [one.before for one in changed])
    before |= _circumstances(question.run.source, [one.before for one in changed])
    after = _circumstances(question.run.source, [one.after for one in changed])
    return [
        replace(one, changes=circumstance_changes(then, now))
        if (then := before.get(_id(one.before))) and (now := after.get(_id(one.after)))
        else one
        for one in known
    ]


def _circumstances(
    source: ArrowSource, results: Iterable[LaunchedResult | None]
) -> dict[str, Mapping[str, object]]:
    return dict(circumstances_of(source, sorted({_id(one) for one in results if one})))


def _id(result: LaunchedResult | None) -> str:
    return result.result_id if result else ""
