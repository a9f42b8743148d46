"""Trust in results: their grades, the cause that explains most, and neighbours that contradict."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Protocol

from analysis.results.row import ResultRow, TimedWork, item_estimate_ms
from analysis.statistics.ratios import Estimate, ratio_outcome
from runner.contract.record.verdict import Doubt, Grade, doubt, heaviest_first, with_doubt

DOUBTFUL_FACTOR = 2.0
"""Change beyond which a result of grade D is named: such a number shows orders of size alone."""


class Graded(Protocol):
    """A result with its grade."""

    @property
    def grade(self) -> Grade | None: ...

    @property
    def doubts(self) -> Sequence[Doubt] | None:
        """The heaviest first."""
        ...


@dataclass(frozen=True)
class Cause:
    """A finding that lowers grades, with its remedy."""

    doubt: Doubt
    """The finding of one cell; that of the least value where cells differ in it alone."""
    most: float | None
    """The greatest value; None where they differ in nothing, or in other facts as well."""
    cells: int
    """Cells of the worst grade whose heaviest finding it is."""


@dataclass(frozen=True)
class GradeSummary:
    """Grades of timed results."""

    grades: Mapping[Grade, int]
    """The best first."""
    cause: Cause | None
    """The heaviest finding of most cells of the worst grade; None where nothing was found."""

    @property
    def worst(self) -> Grade | None:
        return max(self.grades, default=None)

    @property
    def is_sound(self) -> bool:
        """True if every number can show differences of 5 %."""
        return self.worst in (None, "A", "B")


def summarise_grades(rows: Sequence[Graded]) -> GradeSummary:
    """The grades of these results and what explains the worst of them."""
    counts = Counter(row.grade for row in rows if row.grade)
    worst = max(counts, default=None)
    kinds: dict[tuple[str, str], list[Doubt]] = defaultdict(list)
    for row in rows:
        if row.grade == worst and row.doubts:
            heaviest = heaviest_first(row.doubts)[0]
            kinds[heaviest.code, heaviest.remedy].append(heaviest)
    cause = max(map(_cause_of, kinds.values()), key=lambda cause: cause.cells, default=None)
    return GradeSummary({grade: counts[grade] for grade in sorted(counts)}, cause)


def _cause_of(doubts: Sequence[Doubt]) -> Cause:
    first = doubts[0]
    values = [doubt.value for doubt in doubts if doubt.value is not None]
    least, most = min(values, default=None), max(values, default=None)
    if least == most or any(doubt.facts != first.facts for doubt in doubts):
        return Cause(first, None, len(doubts))
    return Cause(next(doubt for doubt in doubts if doubt.value == least), most, len(doubts))


@dataclass(frozen=True)
class Neighbour(TimedWork):
    """The result of a series next to that of a run, before or after it, that can be quoted."""

    cell_id: str
    run_id: str
    measured_at: datetime
    grade: Grade
    same_software: bool
    """True if image, libraries, runner and variables were the same ones."""
    differences: tuple[str, ...] = ()
    """Differences beside the software, in words."""


@dataclass(frozen=True)
class Change:
    """A difference between two results of one series that is beyond intervals and grades."""

    now: ResultRow
    then: Neighbour
    ratio: Estimate

    @property
    def is_contradiction(self) -> bool:
        """True if nothing that is known explains it, so that one of the grades is wrong."""
        known = self.then.differences or not self.then.same_software
        return not known and self.now.grade != "D"

    @property
    def loses_grade(self) -> bool:
        """True if it is this result that may be wrong: the other one's grade is no worse."""
        grade = self.now.grade
        return self.is_contradiction and grade is not None and grade >= self.then.grade


def changes(rows: Sequence[ResultRow], neighbours: Sequence[Neighbour]) -> tuple[Change, ...]:
    """The results that differ from these neighbours in their series, the greatest change first."""
    others = {result.cell_id: result for result in neighbours}
    pairs = ((row, others[row.cell_id]) for row in rows if row.cell_id in others)
    differing = [change for row, then in pairs if (change := _change(row, then))]
    return tuple(sorted(differing, key=lambda change: -_factor(change.ratio)))


def doubt_contradictions(
    rows: Sequence[ResultRow], differing: Sequence[Change]
) -> tuple[ResultRow, ...]:
    """The results, of grade D where they contradict neighbours of no worse grade."""
    doubts = {
        change.now.cell_id: contradiction(change.then.run_id, 1 / change.ratio.value)
        for change in differing
        if change.loses_grade
    }
    return tuple(
        replace(row, **with_doubt(vars(row), doubts[row.cell_id])) if row.cell_id in doubts else row
        for row in rows
    )


def contradiction(run_id: str, factor: float) -> Doubt:
    """The doubt about a result that a neighbour contradicts, which took so many times as long."""
    return doubt("contradicted", "D", factor, "several_processes", run=run_id)


def _change(row: ResultRow, then: Neighbour) -> Change | None:
    now, before = item_estimate_ms(row), item_estimate_ms(then)
    if now is None or before is None or row.grade is None:
        return None
    ratio = now.over(before)
    if row.grade == "D":
        differs = _factor(ratio) > DOUBTFUL_FACTOR and not ratio.low <= 1 <= ratio.high
    else:
        # a contradiction is one however small: equality within a threshold excuses none
        differs = ratio_outcome(ratio, max(row.grade, then.grade), threshold=0).is_shown
    return Change(row, then, ratio) if differs else None


def _factor(ratio: Estimate) -> float:
    return max(ratio.value, 1 / ratio.value)
