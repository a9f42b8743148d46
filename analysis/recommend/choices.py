"""Choices: each candidate is ranked, or left out with the reason."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.recommend.candidates import (
    Candidate,
    CellKey,
    Figure,
    Objection,
    ObjectionKind,
    Objective,
    figure_outcome,
    question_of,
)
from analysis.recommend.memory_fit import percentage
from analysis.recommend.service_levels import ServiceLevel, SloChance
from analysis.results.series import UNKNOWN_SCOPE
from analysis.statistics.numbers import amount, excess_words
from analysis.statistics.ratios import PROMISES, RatioOutcome

_ALIKE: tuple[tuple[str, ObjectionKind, str], ...] = (
    ("scope", "other_scope", "joules of"),
    ("settings", "other_settings", "measured with"),
)
"""Facts in which figures agree that are compared, with the reason against others."""
USUAL_CONFIDENCE = 0.9
"""The least chance to keep a service level with which a candidate is recommended."""


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate that nothing speaks against."""

    candidate: Candidate
    figure: Figure
    memory: Figure | None = None
    """Megabytes; None where nobody asked, or nobody knows."""
    chance: SloChance | None = None
    price: float | None = None
    outcome: RatioOutcome | None = None
    """That of its figure beside the first one's; None of the first."""

    @property
    def may_be_as_good(self) -> bool:
        """True if it is equal to the first, or intervals and grades leave it undecided."""
        outcome = self.outcome
        return bool(outcome and not (outcome.is_shown or outcome.because == "no_interval"))


@dataclass(frozen=True)
class CandidateRanking:
    """Candidates that answer the same question, in the order in which to choose."""

    first: RankedCandidate
    equals: tuple[RankedCandidate, ...]
    """Those that may be as good as the first: measured ones before others."""
    others: tuple[RankedCandidate, ...]
    """Those that differ from the first, or may."""
    extrapolated: tuple[RankedCandidate, ...]
    """Those of which nothing promises anything; the first is one only where all are."""
    is_sure: bool
    """True if every other one is worse beyond intervals and grades, those that are extrapolated
    aside."""

    @property
    def machines(self) -> int:
        return len({row.candidate.machine.key for row in self.rows})

    @property
    def rows(self) -> tuple[RankedCandidate, ...]:
        return (self.first, *self.equals, *self.others, *self.extrapolated)


def rank_candidates(
    candidates: Sequence[RankedCandidate], *, more_is_better: bool
) -> CandidateRanking | None:
    """The ranking by the candidates' figures; None without any.

    The first is one that none is better than, beyond what is not known or by rounds side by side:
    of those a measured one of grade A to C, if any, and of these the one with the best value.
    """
    if not candidates:
        return None
    sign = -1 if more_is_better else 1

    def worth(one: RankedCandidate) -> float:
        return sign * one.figure.value

    ordered = sorted(candidates, key=worth)
    inside = [one for one in ordered if not one.figure.outside]
    extrapolated = [one for one in ordered if one.figure.outside]
    if not inside:
        first, *rest = extrapolated
        return CandidateRanking(first, (), (), tuple(rest), is_sure=False)
    measured_first = sorted(
        inside, key=lambda one: not (one.figure.is_measured and one.figure.grade in PROMISES)
    )

    def by(first: RankedCandidate, one: RankedCandidate) -> RankedCandidate:
        outcome = figure_outcome(one.figure, first.figure, more_is_better=more_is_better)
        return replace(one, outcome=outcome)

    def is_beaten(one: RankedCandidate) -> bool:
        """True if another is better, or has the better value where no interval tells more."""
        outcomes = ((by(other, one).outcome, worth(other)) for other in inside if other is not one)
        return any(
            outcome.kind == "worse" or (outcome.because == "no_interval" and value < worth(one))
            for outcome, value in outcomes
            if outcome
        )

    # rounds side by side may contradict values of another time, and each other
    first = next((one for one in measured_first if not is_beaten(one)), inside[0])
    equals = [by(first, one) for one in measured_first if one is not first]
    others = [by(first, one) for one in inside if one is not first]
    return CandidateRanking(
        first,
        tuple(one for one in equals if one.may_be_as_good),
        tuple(one for one in others if not one.may_be_as_good),
        tuple(by(first, one) for one in extrapolated),
        is_sure=bool(others) and all(one.outcome and one.outcome.kind == "worse" for one in others),
    )


@dataclass(frozen=True)
class Requirements:
    """The conditions that a choice must meet, and the number by which it is made."""

    objective: Objective
    level: ServiceLevel | None = None
    confidence: float = USUAL_CONFIDENCE
    memory_bytes: int | None = None
    largest_batch: bool = False
    """True if the largest batch that fits is of interest beside the ranking."""


@dataclass(frozen=True)
class LeftOutCandidate:
    """A candidate that is not recommended."""

    candidate: Candidate
    objection: Objection


@dataclass(frozen=True)
class Choice:
    """The answer to one question: a ranking, and the reasons against all others."""

    question: CellKey
    ranking: CandidateRanking | None
    left_out: tuple[LeftOutCandidate, ...]


def choose_each(
    candidates: Iterable[RankedCandidate | LeftOutCandidate], requirements: Requirements
) -> tuple[Choice, ...]:
    by_question: dict[CellKey, list[RankedCandidate | LeftOutCandidate]] = {}
    for one in candidates:
        by_question.setdefault(question_of(one.candidate.cell), []).append(one)
    return tuple(_choice(key, of, requirements) for key, of in by_question.items())


def _choice(
    question: CellKey,
    candidates: Sequence[RankedCandidate | LeftOutCandidate],
    requirements: Requirements,
) -> Choice:
    ranked = [one for one in candidates if isinstance(one, RankedCandidate)]
    left_out = [one for one in candidates if isinstance(one, LeftOutCandidate)]
    # Joules of most candidates hold the same, and most imports have the same settings; those with
    # others are not compared with them.
    alike = ranked
    for name, kind, words in _ALIKE:
        counts = Counter(getattr(one.figure, name) for one in alike)
        usual = max(
            counts, key=lambda of: (of not in (None, UNKNOWN_SCOPE), counts[of]), default=None
        )
        others = [one for one in alike if getattr(one.figure, name) not in (usual, None)]
        for one in others:
            reason = Objection(kind, f"{words} {getattr(one.figure, name)}, not {usual}")
            left_out.append(LeftOutCandidate(one.candidate, reason))
        alike = [one for one in alike if one not in others]
    ranking = rank_candidates(alike, more_is_better=requirements.objective.more_is_better)
    return Choice(question, ranking, tuple(left_out))


def objection_by_level(
    level: ServiceLevel, chance: SloChance, confidence: float
) -> Objection | None:
    if chance.share is None:
        return Objection("slo_unknown", chance.basis)
    if chance.share >= confidence:
        return None
    at_least = "at least " if chance.is_least else ""
    reason = (
        f"the chance of {level} is {at_least}{percentage(chance.share)}, less than"
        f" {percentage(confidence)}"
    )
    if chance.is_least:
        return Objection("slo_unknown", f"{chance.basis}: {reason}")
    if chance.percentile_s is None:
        return Objection("too_slow", f"{chance.basis}; {reason}")
    name = chance.percentile or level.percentile
    stated = f"{'median' if name == 'p50' else name} {amount(chance.percentile_s * 1e3, 'ms')}"
    if (times := chance.percentile_s / level.limit_s) > 1:
        stated = f"{stated}, {excess_words(times)} the limit"
    lower = f", and {level.percentile} is no shorter" if name != level.percentile else ""
    return Objection("too_slow", f"{stated}{lower or f'; {reason}'}")
