"""The A/A study: what pairs of equal results differed by, by grade.

The figures are those that `python -m performance aa_grades` computes from rows of
`performance contention`.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from runner.contract.record import Grade

TAIL_DEGREES = 4
"""Degrees of freedom of the Student's t that stands for the study's pairs: tails are heavy."""
RUNS_BY_LAUNCHES = 0.5
"""The standard deviation of runs by that of the launches of a run."""


@dataclass(frozen=True)
class Apart:
    """The distance of pairs of results of a grade, as the difference of their logarithms."""

    pairs: int
    p99: float
    """The 99th percentile."""


APART: Mapping[Grade, Apart] = {"C": Apart(100, 0.2)}
