"""Statistics of the rounds of a cell: the interval over processes, and changes over time."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from runner.contract.cell import Cell
from runner.contract.job import Job, Measure
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Doubt, DoubtCode, RemedyCode, scaled
from runner.contract.rounds import RoundResult
from runner.measure.clock import NANOSECONDS
from runner.measure.grade import DRIFT, IMPRECISION
from runner.measure.statistics.drift import (
    UNKNOWN_BETWEEN,
    Drift,
    LevelChange,
    change_inside,
    drift,
)
from runner.measure.statistics.percentiles import PERCENTILE_FRACTIONS, Interval
from runner.measure.statistics.replication import (
    Processes,
    Spread,
    between_cv,
    growing_confidence,
    medians_of,
    moments_of,
    process_error,
    round_interval,
    spread_of,
    widened,
    widened_percentiles,
)
from runner.measure.statistics.spread import effective_rounds
from runner.measure.statistics.summary import LatencySummary
from runner.modes.registry import COLD_MODES
from runner.modes.server.rates import MILLISECOND_NS, QueueModel
from runner.modes.server.serving import SERVICE

_LEAST_SHARE = 1e-3  # the least share of service times by which a queue's change is simulated
MIDDLE = "p50"


@dataclass(frozen=True)
class ProcessShifts:
    """By how much numbers of a record move if each query takes what processes differ by longer."""

    errors: Mapping[str, float]
    """By percentile, the share by which latencies grow."""
    factor: float = 1.0
    """The share by which the number that is compared moves, by that of the queries."""
    bracket: Columns = field(default_factory=dict)
    """The ends of a sought peak that allow for other processes; none where no peak was sought."""


def queue_shifts(
    job: Job, cell: Cell, rounds: Sequence[RoundResult], processes: Processes
) -> ProcessShifts:
    """Simulate the queue with slower and faster service times, at its rate or for its peak."""
    services = [result.parts_ns[SERVICE] for result in rounds]
    share = max(process_error(services, processes), _LEAST_SHARE)
    model = QueueModel(list(chain.from_iterable(services)), [job.seed])
    errors = dict.fromkeys(PERCENTILE_FRACTIONS, share)
    if rate := _rate(cell, rounds[0]):
        # No percentile grows by less than the service times.
        fractions, run = list(PERCENTILE_FRACTIONS.values()), max(map(len, services))
        growths = model.slowdowns(rate, share, fractions, run)
        errors = {name: max(share, growth) for name, growth in zip(errors, growths, strict=True)}
    if not cell.seeks_peak:
        return ProcessShifts(errors, errors[MIDDLE] / share)
    sought, slo_ns = rounds[0].columns, (cell.slo_ms or 0.0) * MILLISECOND_NS
    usual, slower, faster = (
        math.log(model.sustained(slo_ns, stretch))
        for stretch in (1.0, 1.0 + share, 1.0 / (1.0 + share))
    )
    less, more = usual - slower, faster - usual
    bracket = _bracket(sought["peak_qps_low"], sought["peak_qps_high"], less, more)
    return ProcessShifts(errors, max(less, more, share) / share, bracket)


def _rate(cell: Cell, result: RoundResult) -> float | None:
    """The rate of the queries whose latencies a record has; None if they did not wait."""
    sought = result.columns
    if "achieved_qps" in sought:  # no trial was run
        return None
    achieved = len(result.durations_ns) * NANOSECONDS / max(1, result.steady_ns)
    return cell.target_qps or sought.get("peak_qps") or achieved


def _bracket(low: float | None, high: float | None, less: float, more: float) -> Columns:
    """A bracket widened about its middle, in quadrature of logarithms, since ratios are known."""
    if high is None:
        return {}
    if not low:
        return {"peak_qps_high": high * math.exp(more)}
    middle = (low + high) / 2
    return {
        "peak_qps_low": middle * math.exp(-math.hypot(math.log(middle / low), less)),
        "peak_qps_high": middle * math.exp(math.hypot(math.log(high / middle), more)),
    }


SIGNIFICANCE = 0.01  # a change is a doubt if chance makes one so large less often than this


@dataclass(frozen=True)
class Replicated:
    """A summary whose interval holds for fresh processes."""

    summary: LatencySummary  # several rounds have their mean, one its interval widened
    judged: LatencySummary  # what more measuring could mend: without other processes
    columns: Columns
    spread: Spread | None  # of fresh processes, if the record is of one; else None
    bracket: Columns  # ends of a peak, in place of those of its search; none without one


@dataclass(frozen=True)
class Changes:
    """Changes over time, between rounds and inside them."""

    drift: Drift | None
    inside: LevelChange | None
    is_calibrated: bool  # True if it was known beforehand what processes of this host differ by

    @property
    def columns(self) -> Columns:
        between, inside = self.drift, self.inside
        return {
            "drift": between.change if between else None,
            "drift_p_value": between.p_value if between else None,
            "steady_change": inside.size if inside else None,
            "steady_change_kind": inside.kind if inside else None,
            "steady_change_p_value": inside.p_value if inside else None,
        }


def is_done(measure: Measure, cell: Cell, rounds: Sequence[RoundResult]) -> bool:
    """True if these rounds suffice for the cell's record.

    There are at least `rounds` of them; then it is their number that grows, until the interval is
    within the target, another one would not fit into the time, or there are `max_rounds`. A search
    for the peak rate, with trials of its own, takes one.
    """
    count = len(rounds)
    if cell.seeks_peak or count >= measure.most_rounds:
        return True
    if count < measure.rounds:
        return False
    spent = [result.steady_ns for result in rounds]
    if sum(spent) + max(spent) > measure.max_s * NANOSECONDS:
        return True
    interval = round_interval(medians_of(rounds), growing_confidence(measure), moments_of(rounds))
    precision = interval.precision if interval else None
    return precision is not None and precision <= measure.precision_target


def replicate(
    summary: LatencySummary, job: Job, cell: Cell, rounds: Sequence[RoundResult]
) -> Replicated:
    """Give a summary of all durations the interval that fresh processes justify."""
    medians = medians_of(rounds)
    columns: dict[str, Any] = {
        "round_medians": medians,
        "latency_between_process_cv": between_cv(medians),
    }
    if len(rounds) > 1:
        effective = effective_rounds(len(rounds), moments_of(rounds))
        columns |= {"effective_rounds": effective.count, "round_degrees": effective.degrees}
    processes = Processes.of(job, rounds)
    if cell.scenario == "server":
        shifts = queue_shifts(job, cell, rounds, processes)
    else:  # without a queue every percentile moves as the median does
        error = process_error([result.durations_ns for result in rounds], processes)
        shifts = ProcessShifts(dict.fromkeys(PERCENTILE_FRACTIONS, error))
    bounds = widened_percentiles("latency", summary.percentiles, shifts.errors)
    bounded = replace(summary, percentiles={**summary.percentiles, **bounds})
    if len(rounds) > 1:
        interval = processes.interval(medians)
        whole = _with_interval(bounded, interval) if interval else bounded
        return Replicated(whole, whole, columns, None, shifts.bracket)
    spread = processes.spread.multiplied(shifts.factor)
    names = ("source", "processes", "degrees", "queue")
    columns |= {f"process_spread_{name}": getattr(spread, name) for name in names}
    columns["process_spread"] = spread.deviation
    low, high = summary.latency_median_low_s, summary.latency_median_high_s
    if low is None or high is None:
        return Replicated(bounded, summary, columns, spread, shifts.bracket)
    within = widened(Interval(low, summary.latency_median_s, high), shifts.errors[MIDDLE])
    return Replicated(_with_interval(bounded, within), summary, columns, spread, shifts.bracket)


def changes_of(job: Job, rounds: Sequence[RoundResult]) -> Changes:
    """Changes between rounds, and the surest inside one; waiting in line is left out."""
    known = job.process_spread
    deviation = spread_of(known).safe_deviation if known else UNKNOWN_BETWEEN
    durations = [result.parts_ns.get(SERVICE, result.durations_ns) for result in rounds]
    inside = [change_inside(values) for values in durations]
    surest = min(filter(None, inside), key=lambda change: change.p_value, default=None)
    if surest is not None:  # it is the best of several
        surest = replace(surest, p_value=min(1.0, surest.p_value * len(rounds)))
    between = drift(durations, deviation, moments_of(rounds))
    return Changes(between, surest, is_calibrated=known is not None)


def process_doubts(replicated: Replicated, cell: Cell) -> Iterator[Doubt]:
    """The doubt about a record of one process: at best B, and C where the host is unknown."""
    if replicated.spread is not None:
        shown, is_calibrated = replicated.spread.shown, replicated.spread.is_calibrated
        is_cold = cell.mode in COLD_MODES
        code: DoubtCode = "one_round_of_starts" if is_cold else "one_process"
        remedy: RemedyCode = "profile" if is_calibrated else "calibrate_or_profile"
        if cell.seeks_peak:
            remedy = "run_several" if is_calibrated else "calibrate"
        yield from scaled(IMPRECISION, max(shown, 1e-9), code, remedy, shown)


def change_doubts(changes: Changes) -> Iterator[Doubt]:
    between, inside = changes.drift, changes.inside
    if between and between.change is not None and between.p_value < SIGNIFICANCE:
        code: DoubtCode = "drift_in_order" if between.steady else "drift"
        needs_calibration = not (changes.is_calibrated or between.steady)
        remedy: RemedyCode = "calibrate_cool_or_rounds" if needs_calibration else "cool_or_rounds"
        yield from scaled(DRIFT, between.change, code, remedy, between.change)
    if inside and inside.p_value < SIGNIFICANCE:
        code = "inside_step" if inside.kind == "step" else "inside_trend"
        yield from scaled(DRIFT, abs(inside.size), code, "cool", inside.size)


def _with_interval(summary: LatencySummary, interval: Interval) -> LatencySummary:
    return replace(
        summary,
        latency_median_s=interval.value,
        latency_median_low_s=interval.low,
        latency_median_high_s=interval.high,
        latency_precision=interval.precision,
    )
