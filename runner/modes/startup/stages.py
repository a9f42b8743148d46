"""Columns of the stages of starts, with intervals that hold for fresh processes."""

from collections.abc import Mapping, Sequence
from itertools import chain
from statistics import median

from runner.contract.job import Job
from runner.contract.record.record import Columns
from runner.contract.rounds import RoundResult
from runner.measure.statistics.percentiles import Interval
from runner.measure.statistics.replication import Processes, median_of_rounds
from runner.measure.statistics.summary import SecondsColumns, median_columns

STARTUP_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
COLD = "cold_"
"""Prefix of the parts of cold starts."""


def startup_columns(job: Job, rounds: Sequence[RoundResult]) -> Columns:
    """Median and interval of each stage, warm and cold, and of whole cold starts.

    The median is of all starts. With several rounds of them its interval is as wide, by it, as that
    of the rounds' medians; with one it is widened by what processes differ by.
    """
    series = [_series(result.parts_ns) for result in rounds]
    columns: SecondsColumns = {}
    for name in series[0]:
        measured = [index for index, values in enumerate(series) if values[name]]
        processes = Processes.of(job, [rounds[index] for index in measured])
        durations = [series[index][name] for index in measured]
        columns |= _median_columns(f"startup_{name}", durations, processes)
    return columns


def _series(parts_ns: Mapping[str, Sequence[int]]) -> Mapping[str, Sequence[int]]:
    """Durations of one round by the name in their columns; empty where it has no such starts."""
    cold = [parts_ns.get(f"{COLD}{stage}", ()) for stage in STARTUP_STAGES]
    return {
        **{f"warm_{stage}": parts_ns.get(stage, ()) for stage in STARTUP_STAGES},
        **{f"cold_{stage}": values for stage, values in zip(STARTUP_STAGES, cold, strict=True)},
        "cold": [sum(stages) for stages in zip(*cold, strict=True)],
    }


def _median_columns(
    prefix: str, rounds: Sequence[Sequence[int]], processes: Processes
) -> SecondsColumns:
    starts = list(chain.from_iterable(rounds))
    interval = median_of_rounds(rounds, processes).interval
    return median_columns(prefix, starts, _about_all(starts, interval))


def _about_all(starts: Sequence[int], interval: Interval | None) -> Interval | None:
    """The interval, as wide by it, about the median of all starts."""
    if interval is None or not interval.median:
        return interval
    middle = median(starts)
    low, high = (middle * (end / interval.median) for end in (interval.low, interval.high))
    return Interval(low, middle, high)
