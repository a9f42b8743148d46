"""Trust in a run's numbers: how many have which grade, and the cause that explains most."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runner.contract.record.verdict import Doubt, Grade


class Graded(Protocol):
    """A result with its grade."""

    @property
    def grade(self) -> Grade | None:
        """The grade; None where nothing was timed."""
        ...

    @property
    def doubts(self) -> Sequence[Doubt] | None:
        """Doubts about the numbers, the heaviest first."""
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
    """Cells by grade, the best first."""
    cause: Cause | None
    """The heaviest finding of most cells of the worst grade; None where nothing was found."""

    @property
    def worst(self) -> Grade | None:
        """The worst grade; None if nothing was graded."""
        return max(self.grades, default=None)

    @property
    def is_sound(self) -> bool:
        """True if every number can show differences of 5 %."""
        return self.worst in (None, "A", "B")


def summarise_grades(rows: Sequence[Graded]) -> GradeSummary:
    """The grades of these results and what explains the worst of them."""
    counts = Counter(row.grade for row in rows if row.grade)
    grades = {grade: counts[grade] for grade in sorted(counts)}
    worst = max(grades, default=None)
    return GradeSummary(grades, _cause([row for row in rows if row.grade == worst]))


def _cause(rows: Sequence[Graded]) -> Cause | None:
    kinds: dict[tuple[str, str], list[Doubt]] = defaultdict(list)
    for doubt in (row.doubts[0] for row in rows if row.doubts):
        kinds[doubt.code, doubt.remedy].append(doubt)
    return max(map(_cause_of, kinds.values()), key=lambda cause: cause.cells, default=None)


def _cause_of(doubts: Sequence[Doubt]) -> Cause:
    first = doubts[0]
    values = [doubt.value for doubt in doubts if doubt.value is not None]
    least, most = min(values, default=None), max(values, default=None)
    if least == most or any(doubt.facts != first.facts for doubt in doubts):
        return Cause(first, None, len(doubts))
    return Cause(next(doubt for doubt in doubts if doubt.value == least), most, len(doubts))
