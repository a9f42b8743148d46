"""Queues of fresh processes: their services take other times, and the line adds to it."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.record import Columns
from runner.contract.rounds import RoundResult
from runner.measure.clock import NANOSECONDS
from runner.measure.statistics.percentiles import PERCENTILE_FRACTIONS
from runner.measure.statistics.replication import Processes, process_error
from runner.modes.server.queue_model import QueueModel
from runner.modes.server.serving import SERVICE
from runner.modes.server.trial import MILLISECOND_NS

_LEAST_SHARE = 1e-3
"""The least share of service times by which a queue's change is simulated."""
MIDDLE = "p50"
"""The percentile that is the median."""


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
    errors = _errors(model, _rate(cell, rounds[0]), share, max(map(len, services)))
    if not cell.seeks_peak:
        return ProcessShifts(errors, errors[MIDDLE] / share)
    sought = rounds[0].columns
    less, more = _peak_shifts(model, (cell.slo_ms or 0.0) * MILLISECOND_NS, share)
    bracket = _bracket(sought["peak_qps_low"], sought["peak_qps_high"], less, more)
    return ProcessShifts(errors, max(less, more, share) / share, bracket)


def _rate(cell: Cell, result: RoundResult) -> float | None:
    """The rate of the queries whose latencies a record has; None if they did not wait."""
    sought = result.columns
    if "achieved_qps" in sought:  # no trial was run
        return None
    achieved = len(result.durations_ns) * NANOSECONDS / max(1, result.steady_ns)
    return cell.target_qps or sought.get("peak_qps") or achieved


def _errors(model: QueueModel, rate: float | None, share: float, run: int) -> dict[str, float]:
    """The growth of each percentile, which is no less than that of the service times."""
    if rate is None:
        return dict.fromkeys(PERCENTILE_FRACTIONS, share)
    growths = model.slowdowns(rate, share, list(PERCENTILE_FRACTIONS.values()), run)
    return dict(zip(PERCENTILE_FRACTIONS, (max(share, growth) for growth in growths), strict=True))


def _peak_shifts(model: QueueModel, slo_ns: float, share: float) -> tuple[float, float]:
    """By how much the logarithm of the peak falls with slower services, and rises with faster."""
    usual, slower, faster = (
        math.log(model.sustained(slo_ns, stretch))
        for stretch in (1.0, 1.0 + share, 1.0 / (1.0 + share))
    )
    return usual - slower, faster - usual


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
