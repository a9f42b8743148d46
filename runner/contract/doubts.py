"""Doubts about a cell's numbers, and the scales by which a finding costs a grade."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runner.contract.record.verdict import Grade


@dataclass(frozen=True)
class Doubt:
    """A reason not to trust the numbers, with its remedy."""

    grade: Grade
    """The best grade that numbers with this doubt can have."""
    text: str
    """The finding with its value, a colon, the remedy."""


@dataclass(frozen=True)
class Scale:
    """Values beyond which a finding costs the grade A, B and C."""

    b: float
    c: float
    d: float = math.inf

    def grade(self, value: float) -> Grade | None:
        """The grade that a value leaves; None if it raises no doubt."""
        if value <= self.b:
            return None
        return "D" if value > self.d else "C" if value > self.c else "B"


# What the grades promise: numbers of grade A can be compared down to the precision they state,
# those of grade B down to differences of 5 %, those of grade C down to 20 %; D: do not quote them.
BIAS = Scale(b=0.01, c=0.05, d=0.20)
"""Shares by which a median may be wrong; below 1 % lies what our own loop may add to one."""


def scaled(scale: Scale, value: float, text: str) -> Iterator[Doubt]:
    """The doubt that a value on this scale raises, if it raises one."""
    grade = scale.grade(value)
    if grade is not None:
        yield Doubt(grade, text)


def takes_time(text: str) -> bool:
    """True if the remedy in a doubt's text is to measure longer, whatever else helps."""
    return "measure." in text or "measure longer" in text


def heaviest_first(doubts: Iterable[Doubt]) -> list[Doubt]:
    """Doubts from the worst grade to the best; of one grade, causes outside of the job first.

    What comes from outside explains the scatter that every busy machine shows.
    """
    outside_first = sorted(doubts, key=lambda doubt: takes_time(doubt.text))
    return sorted(outside_first, key=lambda doubt: doubt.grade, reverse=True)


def with_doubt(columns: Mapping[str, Any], doubt: Doubt) -> dict[str, Any]:
    """`grade` and `grade_reasons` of a record with one more doubt: first if none is heavier."""
    grade: Grade = columns.get("grade") or "A"
    reasons = columns.get("grade_reasons") or ()
    is_heaviest = doubt.grade >= grade
    ordered = [doubt.text, *reasons] if is_heaviest else [*reasons, doubt.text]
    return {"grade": max(grade, doubt.grade), "grade_reasons": ordered}


def percent(share: float) -> str:
    """A share as a rounded percentage: `0.4 %`, `18 %`."""
    return f"{share * 100:.{0 if share >= 0.1 else 1}f} %"
