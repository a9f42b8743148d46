"""Columns of generations over all rounds, with intervals that hold for fresh processes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.doubts import Doubt
from runner.contract.record.record import Columns
from runner.contract.rounds import RoundResult
from runner.measure.clock import NANOSECONDS
from runner.measure.grade import imprecision
from runner.measure.statistics.percentiles import Interval
from runner.measure.statistics.replication import (
    Processes,
    median_of_rounds,
    process_error,
    widened_percentiles,
)
from runner.measure.statistics.spread import Floats, Series
from runner.measure.statistics.summary import distribution, interval_columns
from runner.measure.statistics.tails import BOUNDED
from runner.modes.generation import (
    BETWEEN,
    PER_OUTPUT,
    TO_FIRST,
    token_throughputs,
    token_times,
)

_JUDGED = (TO_FIRST, PER_OUTPUT)
"""Columns that are graded beside the latency."""


@dataclass(frozen=True)
class TokenSummary:
    """Columns about tokens, and the doubts about them."""

    columns: Columns
    doubts: list[Doubt]


def summarise_tokens(job: Job, cell: Cell, rounds: Sequence[RoundResult]) -> TokenSummary:
    """Summarise the times of tokens as `replicate` does the durations.

    Statistics are those of all rounds together, but for the judged medians: with several rounds
    each is the mean of the rounds' medians, whose interval stands beside it.
    """
    times = [token_times(result.parts_ns, result.durations_ns, cell) for result in rounds]
    by_name = {name: [values[name] for values in times] for name in (TO_FIRST, PER_OUTPUT, BETWEEN)}
    processes = Processes.of(job, rounds)
    columns: dict[str, float | None] = {}
    doubts: list[Doubt] = []
    for name, values in by_name.items():
        columns |= _bounded(name, values, processes)
        if name in _JUDGED:
            median = median_of_rounds(values, processes)
            columns |= _median_columns(name, median.interval, several=len(rounds) > 1)
            doubts += _doubts(name, median.judged, job)
    durations = list(chain.from_iterable(result.durations_ns for result in rounds))
    columns |= token_throughputs(_pooled(by_name[BETWEEN]), durations, cell)
    return TokenSummary(columns, doubts)


def _bounded(name: str, values: Sequence[Series], processes: Processes) -> dict[str, float | None]:
    """Statistics of all rounds together; bounds of percentiles hold for fresh processes."""
    pooled = _pooled(values)
    columns = distribution(name, pooled)
    if not len(pooled):
        return columns
    error = process_error(values, processes)
    return {**columns, **widened_percentiles(name, columns, dict.fromkeys(BOUNDED, error))}


def _median_columns(
    name: str, interval: Interval | None, *, several: bool
) -> dict[str, float | None]:
    columns = interval_columns(name, interval)
    if several and interval:
        columns[f"{name}_median_s"] = interval.median / NANOSECONDS
    return columns


def _doubts(name: str, interval: Interval | None, job: Job) -> Iterator[Doubt]:
    if interval:
        yield from imprecision(name, interval.precision, job.measure)


def _pooled(values: Sequence[Series]) -> Floats:
    return np.concatenate([np.asarray(part, dtype=float) for part in values])
