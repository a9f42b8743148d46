"""The curve of a search for the best batch: throughput, latency and memory of each batch tried."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from statistics import fmean, median, stdev

from runner.contract.confidence import INTERVAL_CONFIDENCE, students_t
from runner.contract.record.record import Columns
from runner.contract.record.verdict import percent
from runner.measure.clock import NANOSECONDS, seconds

USEFUL_GAIN = 0.01
"""A larger batch that gives no more than this share of samples per second is not worth its latency
and memory."""
_MOST = 700.0  # the greatest logarithm whose number is finite


@dataclass(frozen=True)
class BatchTry:
    """A few queries at one batch size."""

    batch_size: int
    first_ns: int  # the first query at this shape
    durations_ns: Sequence[int]
    peak_bytes: int  # highest use of the host's memory
    device_bytes: int | None = None  # highest use of an accelerator's own memory; None without one

    @property
    def duration_ns(self) -> float:
        """The median duration, which one slow query does not move."""
        return median(self.durations_ns)

    @property
    def samples_per_second(self) -> float:
        return self.batch_size * NANOSECONDS / self.duration_ns

    @property
    def line(self) -> str:
        count, rate = len(self.durations_ns), self.samples_per_second
        return f"batch {self.batch_size}: {count} queries, {rate:.1f} samples/s"

    def gains_over(self, other: "BatchTry") -> bool:
        return self.samples_per_second > (1 + USEFUL_GAIN) * other.samples_per_second

    def joined(self, again: "BatchTry") -> "BatchTry":
        """The queries of both at the same batch; the first query is the earlier one's."""
        durations = [*self.durations_ns, *again.durations_ns]
        peak = max(self.peak_bytes, again.peak_bytes)
        devices = (self.device_bytes, again.device_bytes)
        device = max((size for size in devices if size is not None), default=None)
        return BatchTry(self.batch_size, self.first_ns, durations, peak, device)


@dataclass(frozen=True)
class Gain:
    """The gain in throughput of a larger batch over a smaller one, with its 95 % interval."""

    low: float
    value: float
    high: float
    pairs: int

    @property
    def takes_larger(self) -> bool:
        return self.value > USEFUL_GAIN

    @property
    def forgone(self) -> float:
        """The most that the batch which is not taken may give more."""
        if self.takes_larger:
            return max(0.0, 1 / (1 + self.low) - 1) if self.low > -1 else inf
        return max(0.0, self.high)

    @property
    def words(self) -> str:
        low, value, high = (f"{100 * end:+.1f} %" for end in (self.low, self.value, self.high))
        return f"{value} ({low} to {high})"


def gain_of(pairs: Sequence[tuple[BatchTry, BatchTry]]) -> Gain | None:
    """The gain of the larger batch of each pair over the smaller; None with fewer than two pairs.

    Student's interval of the mean logarithm of the pairs' ratios: what differs from one binding of
    a batch to the next is the level that varies most, so it is that which is repeated (Kalibera and
    Jones, "Rigorous Benchmarking in Reasonable Time", 2013), and the two of a pair are neighbours
    in time, so that a slow change of the machine cancels.
    """
    if len(pairs) < 2:
        return None
    ratios = [log(large.samples_per_second / small.samples_per_second) for small, large in pairs]
    mean, error = fmean(ratios), stdev(ratios) / sqrt(len(ratios))
    half = students_t(len(ratios) - 1, INTERVAL_CONFIDENCE) * error
    low, value, high = (exp(min(end, _MOST)) - 1 for end in (mean - half, mean, mean + half))
    return Gain(low, value, high, len(ratios))


@dataclass
class BatchCurve:
    """All batches that were tried, from the smallest upward."""

    tries: list[BatchTry]

    @property
    def last(self) -> BatchTry:
        return self.tries[-1]

    @property
    def useful(self) -> BatchTry:
        useful = self.tries[0]
        for attempt in self.tries[1:]:
            useful = attempt if attempt.gains_over(useful) else useful
        return useful

    @property
    def flat(self) -> int:
        """Doublings behind the last useful batch."""
        return len(self.tries) - 1 - self.tries.index(self.useful)

    @property
    def best_two(self) -> tuple[BatchTry, BatchTry] | None:
        """The best batch and its rival, the smaller one first; None with one try.

        The rival is the smallest batch that the best one gains nothing over, so that a plateau is
        entered where it begins; without one it is the second best.
        """
        if len(self.tries) < 2:
            return None
        best, *others = sorted(self.tries, key=lambda attempt: -attempt.samples_per_second)
        near = [other for other in others if not best.gains_over(other)]
        rival = min(near, key=lambda other: other.batch_size, default=others[0])
        small, large = sorted((best, rival), key=lambda attempt: attempt.batch_size)
        return small, large

    @property
    def best(self) -> BatchTry:
        """The batch of most samples per second, the smaller one of equals."""
        return max(self.tries, key=lambda attempt: attempt.samples_per_second)

    @property
    def columns(self) -> Columns:
        return {
            "offline_batches": [attempt.batch_size for attempt in self.tries],
            "offline_queries": [len(attempt.durations_ns) for attempt in self.tries],
            "offline_throughputs": [attempt.samples_per_second for attempt in self.tries],
            "offline_latencies_s": [seconds(round(attempt.duration_ns)) for attempt in self.tries],
            "offline_memory_bytes": [
                attempt.peak_bytes if attempt.device_bytes is None else attempt.device_bytes
                for attempt in self.tries
            ],
        }

    def add_again(self, again: BatchTry) -> None:
        index = [attempt.batch_size for attempt in self.tries].index(again.batch_size)
        self.tries[index] = self.tries[index].joined(again)


def gains_nothing(curve: BatchCurve) -> str:
    useful = curve.useful
    flat = " and ".join(str(attempt.batch_size) for attempt in curve.tries[-curve.flat :])
    verb = "gain" if curve.flat > 1 else "gains"
    return f"batch {flat} {verb} {percent(USEFUL_GAIN)} or less over batch {useful.batch_size}"
