"""Time of an item: the number by which the speeds of two results are compared, in Python and SQL.

An item is a sample, a start, or at a set rate a query. The median of a query would not do: offline
finds its batch and a search its rate, so that two honest results of one cell are of other work. A
peak is known by the bracket of its search: its queries come that far apart, and the latencies are
those of a line at whatever rate was found.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.statistics.ratios import Estimate, estimate


@dataclass(frozen=True)
class TimedWork:
    """A result as far as its speed is concerned."""

    mode: str
    scenario: str
    target_qps: float | None
    """Queries per second that were offered; None where the highest rate was sought."""
    batch_size: int
    """Samples in a query."""
    latency_median_ms: float | None
    """The median time of a query."""
    latency_median_low_ms: float | None
    """Lower end of its 95 % interval."""
    latency_median_high_ms: float | None
    """Upper end."""
    peak_qps: float | None
    """The highest rate that was accepted, queries per second."""
    peak_qps_low: float | None
    """Lower end of its bracket, which allows for fresh processes; None where the search was
    another's."""
    peak_qps_high: float | None
    """Upper end."""


def seeks_peak(result: TimedWork) -> bool:
    """True if the highest rate was sought."""
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
    """The time, its low end and its high end."""
    items = result.batch_size if is_per_sample(result) else 1
    if seeks_peak(result):
        least = result.peak_qps_low or result.peak_qps
        peak, fastest, slowest = (
            1000 / (rate * items) if rate else None
            for rate in (result.peak_qps, result.peak_qps_high, least)
        )
        return peak, fastest, slowest
    median, low, high = (
        None if time is None else time / items
        for time in (
            result.latency_median_ms,
            result.latency_median_low_ms,
            result.latency_median_high_ms,
        )
    )
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
