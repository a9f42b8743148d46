"""The A/A study: what launches of equal results differed by, by grade.

The figures are those that `python -m performance.aa_grades` computes from 66 rows of
the study `contention` and the committed replicates' 32 results.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.statistics.variance import RunPrior
from runner.contract.record.verdict import Grade

TAIL_DEGREES = 4
"""Degrees of freedom of the Student's t that stands for the study's pairs: tails are heavy."""
RUN_PRIOR = RunPrior(ratio=0.66, degrees=5, known_degrees=20, known_launches=5)
"""The spread of runs in the replicates beside that of launches: 8 runs of each of 4 cells. It
weighs as much as five degrees of freedom, as cells differed in it (Smyth 2004, section 6.2), and
their mean is known as well as by twenty: with more, clean runs without a history are accused."""


@dataclass(frozen=True)
class Apart:
    """The distances of launches in pairs of results of a grade, as differences of logarithms."""

    pairs: int
    p99: float
    """The 99th percentile."""


APART: Mapping[Grade, Apart] = {"B": Apart(175, 0.133), "C": Apart(2830, 0.170)}
"""By the worse grade of a pair. Of grade A were none, so B stands for it; those of grade D, 3.9
apart, decide nothing."""
