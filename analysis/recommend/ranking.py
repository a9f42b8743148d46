"""Rankings of candidates: the first, those that nothing tells from it, and the others."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.recommend.candidates import Candidate
from analysis.recommend.figures import Figure, told_apart
from analysis.recommend.service_levels import SloChance
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
