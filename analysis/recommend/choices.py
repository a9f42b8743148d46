"""Choices: each candidate is ranked, or left out with the reason."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.recommend.candidates import (
    Candidate,
    CellKey,
    Objection,
    path_of,
    question_of,
)
from analysis.recommend.figures import Figure, Objective, told_apart
from analysis.recommend.memory_fit import (
    MemoryResult,
    objection_by_memory,
    percentage,
    ran_out,
)
from analysis.recommend.service_levels import ServiceLevel, SloChance
from analysis.results.comparability import UNKNOWN_SCOPE
from analysis.statistics.ratios import PROMISES


@dataclass(frozen=True)
class RankedCandidate:
    """A candidate that nothing speaks against."""

    candidate: Candidate
    figure: Figure
    """The number that it is ranked by."""
    memory: Figure | None = None
    """Megabytes; None where nobody asked, or nobody knows."""
    chance: SloChance | None = None
    """The chance to keep the service level; None where nobody asked."""
    price: float | None = None
    """The price of its device for an hour; None where nobody asked."""


@dataclass(frozen=True)
class CandidateRanking:
    """Candidates that answer the same question, in the order in which to choose."""

    first: RankedCandidate
    equals: tuple[RankedCandidate, ...]
    """Those that nothing tells from the first: measured ones before others."""
    others: tuple[RankedCandidate, ...]
    """Those that differ from the first, or of which nothing tells whether they do."""
    extrapolated: tuple[RankedCandidate, ...]
    """Those of which nothing promises anything; the first is one only where all are."""
    is_sure: bool
    """True if the first differs from every other one beyond intervals and grades, those that are
    extrapolated aside."""

    @property
    def machines(self) -> int:
        """The number of machines that they run on."""
        return len({row.candidate.machine.key for row in self.rows})

    @property
    def rows(self) -> tuple[RankedCandidate, ...]:
        """All of them in their order."""
        return (self.first, *self.equals, *self.others, *self.extrapolated)


def rank_candidates(
    candidates: Sequence[RankedCandidate], *, more_is_better: bool
) -> CandidateRanking | None:
    """The ranking by the candidates' figures; None without any.

    The first is one that none is better than beyond what is not known: of those a measured one of
    grade A to C, if there is one, and of these the one with the best value.
    """
    if not candidates:
        return None
    sign = -1 if more_is_better else 1
    ordered = sorted(candidates, key=lambda one: sign * one.figure.value)
    inside = [one for one in ordered if not one.figure.outside]
    extrapolated = [one for one in ordered if one.figure.outside]
    if not inside:
        first, *rest = extrapolated
        return CandidateRanking(first, (), (), tuple(rest), is_sure=False)
    measured_first = sorted(inside, key=lambda one: not _is_graded(one.figure))
    first = next(one for one in measured_first if not _is_beaten(one, inside))
    apart = {id(one): told_apart(first.figure, one.figure) for one in inside if one is not first}
    equals = [one for one in measured_first if apart.get(id(one)) is False]
    others = [one for one in inside if apart.get(id(one), False) is not False]
    return CandidateRanking(
        *(first, tuple(equals), tuple(others), tuple(extrapolated)),
        is_sure=all(apart.values()) and bool(apart),
    )


def _is_graded(figure: Figure) -> bool:
    """True if it was measured well enough to show a difference."""
    return figure.is_measured and figure.grade in PROMISES


def _is_beaten(one: RankedCandidate, ordered: Sequence[RankedCandidate]) -> bool:
    """True if one before it, in the order of values, differs from it, or may do."""
    for better in ordered:
        if better is one:
            return False
        if told_apart(better.figure, one.figure) is not False:
            return True
    return False


USUAL_CONFIDENCE = 0.9
"""The least chance to keep a service level with which a candidate is recommended."""


@dataclass(frozen=True)
class Requirements:
    """The conditions that a choice must meet, and the number by which it is made."""

    objective: Objective
    level: ServiceLevel | None = None
    confidence: float = USUAL_CONFIDENCE
    """The least chance to keep that level."""
    memory_bytes: int | None = None
    """The most memory that a choice may use."""
    largest_batch: bool = False
    """True if of each path only the largest batch that fits is of interest."""


@dataclass(frozen=True)
class KnownCandidate:
    """Everything that is known of a candidate."""

    candidate: Candidate
    objection: Objection | None
    """The reason against it that holds whatever is required; None without one."""
    figure: Figure | None
    """The number that it is ranked by; None where nobody knows it."""
    lacks: Objection | None = None
    """The reason why there is no such number."""
    memory: Figure | None = None
    """Megabytes, predicted where nobody measured them."""
    results: Sequence[MemoryResult] = field(default=(), repr=False)
    """The memory that cells of its model took on its machine."""
    chance: SloChance | None = None
    price: float | None = None


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
    """None where nothing is left to choose."""
    left_out: tuple[LeftOutCandidate, ...]


def choose_each(
    candidates: Iterable[KnownCandidate], requirements: Requirements
) -> tuple[Choice, ...]:
    """A choice for each question that the candidates answer, in their order."""
    by_question: dict[CellKey, list[KnownCandidate]] = {}
    for known in candidates:
        by_question.setdefault(question_of(known.candidate.cell), []).append(known)
    return tuple(_choice(key, known, requirements) for key, known in by_question.items())


def _choice(
    question: CellKey, candidates: Sequence[KnownCandidate], requirements: Requirements
) -> Choice:
    objections = [objection_to(known, requirements) for known in candidates]
    pairs = list(zip(candidates, objections, strict=True))
    kept = [known for known, objection in pairs if objection is None]
    left_out = [
        LeftOutCandidate(known.candidate, objection) for known, objection in pairs if objection
    ]
    if requirements.largest_batch:
        largest = _largest_batches(kept)
        smaller = [one for one in kept if _batch(one) < largest[path_of(one.candidate)]]
        kept = [one for one in kept if _batch(one) == largest[path_of(one.candidate)]]
        left_out += [
            LeftOutCandidate(one.candidate, _smaller(largest[path_of(one.candidate)]))
            for one in smaller
        ]
    ranked = [
        RankedCandidate(one.candidate, one.figure, one.memory, one.chance, one.price)
        for one in kept
        if one.figure
    ]
    ranked, of_other_scopes = _of_one_scope(ranked)
    left_out += of_other_scopes
    ranking = rank_candidates(ranked, more_is_better=requirements.objective.more_is_better)
    return Choice(question, ranking, tuple(left_out))


def _of_one_scope(
    candidates: Sequence[RankedCandidate],
) -> tuple[list[RankedCandidate], list[LeftOutCandidate]]:
    """The candidates whose joules hold what those of most of them do, and the others."""
    counts = Counter(one.figure.scope for one in candidates)
    usual = max(counts, key=lambda scope: (scope != UNKNOWN_SCOPE, counts[scope]), default=None)
    others = [one for one in candidates if one.figure.scope != usual]
    reasons = [f"joules of {one.figure.scope}, not {usual}" for one in others]
    return (
        [one for one in candidates if one.figure.scope == usual],
        [
            LeftOutCandidate(one.candidate, Objection("other_scope", reason))
            for one, reason in zip(others, reasons, strict=True)
        ],
    )


def objection_to(known: KnownCandidate, requirements: Requirements) -> Objection | None:
    """The first reason against a candidate; None if it is ranked."""
    if known.objection:
        return known.objection
    cell, limit = known.candidate.cell, requirements.memory_bytes
    if reason := ran_out(cell, known.results, limit):
        return Objection("out_of_memory", reason)
    if limit and (objection := objection_by_memory(cell, limit, known.results, known.memory)):
        return objection
    if known.figure is None:
        return known.lacks or Objection("not_known", "nobody measured it")
    if requirements.level and known.chance:
        return _too_slow(requirements.level, known.chance, requirements.confidence)
    return None


def _too_slow(level: ServiceLevel, chance: SloChance, confidence: float) -> Objection | None:
    if chance.share is None:
        return Objection("slo_unknown", chance.basis)
    if chance.share >= confidence:
        return None
    reason = (
        f"the chance of {level} is {percentage(chance.share)}, less than {percentage(confidence)}"
    )
    if chance.percentile_s:
        over = chance.percentile_s / level.limit_s - 1
        side = f", {percentage(over)} over" if over > 0 else ""
        reason = f"{level.percentile} {chance.percentile_s * 1e3:.3g} ms{side}; {reason}"
    return Objection("too_slow", reason)


def _largest_batches(
    candidates: Iterable[KnownCandidate],
) -> Mapping[tuple[str, str, str, str], int]:
    largest: dict[tuple[str, str, str, str], int] = {}
    for known in candidates:
        path = path_of(known.candidate)
        largest[path] = max(largest.get(path, 0), _batch(known))
    return largest


def _batch(known: KnownCandidate) -> int:
    return known.candidate.cell.batch_size


def _smaller(largest: int) -> Objection:
    return Objection("smaller", f"batch {largest} fits too")
