"""Results that were measured side by side, from the durations of their bursts."""

import math
import random
from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

from runner.contract.record.record import Record
from runner.contract.rounds import Bursts, RoundResult
from runner.job.summary import summarise_rounds
from runner.measure.environment import read_environment
from runner.measure.grade import Conditions
from tests.support.jobs import a_job, fake_cell
from tests.support.records import a_record, a_round

GROUP, LOOKS = "run-g1", (3, 6, 12)
Round = Sequence[Sequence[int]]
"""The durations of a round, burst by burst, nanoseconds."""


def round_of(bursts: Round, *, batch: int = 1, together: bool = True) -> RoundResult:
    """The result of a round of these bursts; without bursts where launches took turns."""
    durations = [*chain.from_iterable(bursts)]
    taken = Bursts(
        iterations=[len(burst) for burst in bursts],
        dropped=0,
        rest_s=0.001,
        clocks_hz=[None] * len(bursts),
    )
    samples, columns = batch * len(durations), {"timed_region": "a sleep"}
    known = taken if together else None
    return a_round(durations, samples=samples, bursts=known, columns=columns)


def a_candidate(rounds: Sequence[RoundResult], **changes: Any) -> Record:
    """A record of these rounds of a cell, in the group, whose grade tells that it is quiet."""
    job = a_job([fake_cell(batch_size=changes.get("batch_size", 1))])
    summary = summarise_rounds(job, job.cells[0], rounds, _conditions())
    known = {"side_by_side": GROUP, "looks": [*LOOKS], "grade": "A", "doubts": []}
    return a_record(**{"batch_size": 1, **summary, **known, **changes})


def paced_rounds(seconds: float, count: int, *, seed: int = 0, batch: int = 1) -> list[RoundResult]:
    """Rounds of four bursts about this time, by 1 %, on a machine whose pace changes with each.

    The pace, 40 % to and fro, is the same for all who are side by side.
    """
    pace, own = random.Random("pace"), random.Random(seed)

    def burst() -> list[int]:
        middle = 1e9 * seconds * math.exp(pace.gauss(0, 0.4))
        return [round(middle * math.exp(own.gauss(0, 0.01))) for _ in range(5)]

    return [round_of([burst() for _ in range(4)], batch=batch) for _ in range(count)]


@cache
def _conditions() -> Conditions:
    return Conditions(read_environment(), 1e-9, 1e-6)
