"""Verdicts as analysis and tables see them, and the time of an item, by which speeds compare.

An item is a sample, a start, or at a set rate a query. The median of a query would not do: offline
finds its batch and a search its rate, so that two honest results of one cell are of other work. A
peak is known by the bracket of its search: its queries come that far apart, and the latencies are
those of a line at whatever rate was found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from analysis.statistics.ratios import Estimate, estimate
from runner.contract.reasons import Facts
from runner.contract.record.verdict import Doubt, Grade


@dataclass(frozen=True)
class TimedWork:
    """A result as far as its speed is concerned."""

    mode: str
    scenario: str
    target_qps: float | None
    """Queries per second that were offered; None where the highest rate was sought."""
    batch_size: int
    latency_median_ms: float | None
    """The median time of a query, with the ends of its 95 % interval."""
    latency_median_low_ms: float | None
    latency_median_high_ms: float | None
    peak_qps: float | None
    """Queries per second."""
    peak_qps_low: float | None
    """Of its bracket, which allows for fresh processes; None where the search was another's."""
    peak_qps_high: float | None


def seeks_peak(result: TimedWork) -> bool:
    return result.scenario == "server" and result.target_qps is None


def is_per_sample(result: TimedWork) -> bool:
    """True if an item is a sample, so that batches compare."""
    return result.mode != "startup" and (result.scenario != "server" or seeks_peak(result))


def item_ms(result: TimedWork) -> float | None:
    """The time of an item; None where none was measured, or no peak was found."""
    return _ends_ms(result)[0]


def item_estimate_ms(result: TimedWork) -> Estimate | None:
    """The time of an item with its interval, or that of the peak's bracket; None without one."""
    return estimate(*_ends_ms(result))


def _ends_ms(result: TimedWork) -> tuple[float | None, float | None, float | None]:
    items = result.batch_size if is_per_sample(result) else 1
    if seeks_peak(result):
        rates = (result.peak_qps, result.peak_qps_high, result.peak_qps_low or result.peak_qps)
        peak, fastest, slowest = (1000 / (rate * items) if rate else None for rate in rates)
        return peak, fastest, slowest
    times = (result.latency_median_ms, result.latency_median_low_ms, result.latency_median_high_ms)
    median, low, high = (None if time is None else time / items for time in times)
    return median, low, high


def item_seconds_sql(row: str = "r") -> Mapping[str, str]:
    """The same of a row of `benchmark_results`, in seconds: `time`, `low` and `high` in SQL."""
    ends = {
        "time": ("latency_median_s", f"{row}.peak_qps"),
        "low": ("latency_median_low_s", f"{row}.peak_qps_high"),
        "high": ("latency_median_high_s", f"coalesce({row}.peak_qps_low, {row}.peak_qps)"),
    }
    return {
        name: f"""(CASE WHEN {seeks_peak_sql(row)} THEN 1 / ({rate} * {row}.batch_size)
            WHEN {row}.mode = 'startup' OR {row}.scenario = 'server' THEN {row}.{column}
            ELSE {row}.{column} / {row}.batch_size END)"""
        for name, (column, rate) in ends.items()
    }


def seeks_peak_sql(row: str = "r") -> str:
    """The condition that the highest rate was sought, of a row of `benchmark_results`."""
    return f"({row}.scenario = 'server' AND {row}.target_qps IS NULL)"


@dataclass(frozen=True)
class ResultRow(TimedWork):
    """One line of a run's table of results, in customary units."""

    cell_id: str
    model: str
    backend: str
    runtime: str
    precision: str
    sequence_length: int | None
    image_size: int | None
    audio_seconds: int | None
    new_tokens: int | None
    slo_ms: float | None
    threads: int | None
    """None where the machine decided."""
    workers: int | None
    training_precision: str | None
    status: str
    reason_code: str | None
    reason_facts: Facts | None
    reason: str | None
    remedy: str | None
    """The help against that, or against outputs that are wrong."""
    predicted: bool
    """True if the verdict was predicted before anything was launched."""
    proof: str
    correct: bool | None
    """True if the outputs agree with the fp32 CPU reference; None if that was not verified."""
    correct_code: str | None
    correct_facts: Facts | None
    correct_reason: str | None
    off: float | None
    """Norm of the outputs' difference from that reference, by the reference's norm."""
    tolerance: float | None
    """That which the precision is allowed."""
    grade: Grade | None
    doubts: Sequence[Doubt] | None
    """Doubts about the numbers, the heaviest first."""
    token_throughput: float | None
    rounds: int | None
    """Launches that timed it; None where nobody knows."""
    latency_precision: float | None
    """Half the width of the median's 95 % interval, by the median."""
    memory_mb: float | None
    """Highest memory use, megabytes (1,000,000 bytes)."""
    numbers: Mapping[str, float | None]
    """All other columns of `SHOWN_NUMBERS`."""
    hardware: str | None
    cores: int | None
    hostname: str | None
    launcher: str | None
    profile: str | None
    measured_at: datetime | None

    @property
    def median_ms(self) -> Estimate | None:
        return estimate(
            self.latency_median_ms, self.latency_median_low_ms, self.latency_median_high_ms
        )

    def number(self, column: str) -> float | None:
        own = column not in self.numbers
        value: float | None = getattr(self, column) if own else self.numbers[column]
        return value

    def data(self) -> dict[str, Any]:
        """Plain data, each number under its column."""
        facts = asdict(self)
        facts.update(facts.pop("numbers"))
        return facts
