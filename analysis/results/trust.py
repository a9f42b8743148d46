"""Trust in a run's numbers: how many have which grade, and the cause that explains most."""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from runner.contract.doubts import takes_time
from runner.contract.record import Grade

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*", re.ASCII)


class Graded(Protocol):
    """A result with its grade."""

    @property
    def grade(self) -> Grade | None:
        """The grade; None where nothing was timed."""
        ...

    @property
    def grade_reasons(self) -> Sequence[str] | None:
        """Reasons against the numbers, each with its remedy, the heaviest first."""
        ...


@dataclass(frozen=True)
class Cause:
    """A finding that lowers grades, with its remedy."""

    finding: str
    """In words, with the least and the greatest number where there is one."""
    remedy: str
    """The help that the record names."""
    cells: int
    """Cells of the worst grade whose heaviest finding it is."""

    @property
    def takes_time(self) -> bool:
        """True if measuring longer helps, whatever else does."""
        return takes_time(self.remedy)


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
    kinds: dict[str, list[str]] = defaultdict(list)
    for reason in (row.grade_reasons[0] for row in rows if row.grade_reasons):
        kinds[_NUMBER.sub("#", reason)].append(reason)
    return max(map(_cause_of, kinds.values()), key=lambda cause: cause.cells, default=None)


def _cause_of(reasons: Sequence[str]) -> Cause:
    findings = [reason.partition(": ")[0] for reason in reasons]
    return Cause(_joined(findings), reasons[0].partition(": ")[2], len(reasons))


def _joined(findings: Sequence[str]) -> str:
    """Findings that differ in one number alone, as one with the range of it; else the first."""
    numbers = [_NUMBER.findall(finding) for finding in findings]
    differing = [column for column in zip(*numbers, strict=True) if len(set(column)) > 1]
    if len(differing) != 1:
        return findings[0]
    try:
        least, most = (f(differing[0], key=_value) for f in (min, max))
    except ValueError:  # a version, which no range can be made of
        return findings[0]
    index = next(i for i, column in enumerate(zip(*numbers, strict=True)) if column == differing[0])
    parts = iter(range(len(numbers[0])))
    return _NUMBER.sub(
        lambda match: f"{least} to {most}" if next(parts) == index else match[0], findings[0]
    )


def _value(number: str) -> float:
    return float(number.replace(",", ""))
