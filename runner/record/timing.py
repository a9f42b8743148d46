"""Columns about time that every mode fills."""

from runner.cell import Frozen


class Timing(Frozen):
    """Load, first, warm-up and steady phase. A latency is the time of one query or iteration."""

    parameters: int | None = None
    """Parameters of the model, counted after it was built."""
    import_time_s: float | None = None
    """Seconds to import the runtime, before `load`."""
    load_time_s: float | None = None
    """Seconds to build the model, fill its weights and move it to the device."""
    first_latency_s: float | None = None
    """Seconds of the first query at this shape."""
    warmup_iterations: int | None = None
    """Queries between the first one and the steady phase."""
    warmup_time_s: float | None = None
    """Seconds the warm-up took."""
    warmup_settled: bool | None = None
    """Whether the warm-up's last two windows agreed."""
    timed_region: str | None = None
    """What lies between the two clock readings of an iteration."""

    iterations: int | None = None
    """Timed queries of the steady phase."""
    rounds: int | None = None
    """Visits over which the iterations were spread."""
    round_iterations: list[int] | None = None
    """Iterations of each round, in order."""
    steady_time_s: float | None = None
    """Sum of the timed queries, seconds; in `server` from the first arrival to the last end."""
    throughput: float | None = None
    """Samples per second: batch_size × iterations / steady_time_s."""
    latency_mean_s: float | None = None
    """Arithmetic mean, seconds."""
    latency_median_s: float | None = None
    """Median, seconds."""
    latency_median_low_s: float | None = None
    """Lower end of the median's 95 % bootstrap interval, seconds; null below six iterations."""
    latency_median_high_s: float | None = None
    """Upper end of the median's 95 % bootstrap interval, seconds; null below six iterations."""
    latency_precision: float | None = None
    """Half the width of that interval, by the median."""
    latency_min_s: float | None = None
    """Fastest, seconds."""
    latency_max_s: float | None = None
    """Slowest, seconds."""
    latency_stddev_s: float | None = None
    """Sample standard deviation, seconds; null with fewer than two iterations."""
    latency_mad_s: float | None = None
    """Median absolute deviation from the median, unscaled, seconds."""
    latency_cv: float | None = None
    """Coefficient of variation: standard deviation by mean; null with fewer than two iterations."""
    latency_p50_s: float | None = None
    """50th percentile, seconds; percentiles are null where too few iterations support them."""
    latency_p90_s: float | None = None
    """90th percentile, seconds."""
    latency_p95_s: float | None = None
    """95th percentile, seconds."""
    latency_p99_s: float | None = None
    """99th percentile, seconds."""
    latency_p999_s: float | None = None
    """99.9th percentile, seconds."""
    percentile_iterations_needed: dict[str, int] | None = None
    """Samples that support each percentile at 99 % confidence, by its name, e.g. `p99`."""
    outliers: int | None = None
    """Iterations whose modified z-score is beyond 3.5; counted, never removed."""
    autocorrelation: float | None = None
    """Correlation of each duration with the next one; null where it is not defined."""
    effective_iterations: float | None = None
    """Independent iterations that would tell as much, by Geyer's initial positive sequence."""
    drift: float | None = None
    """Median of the last round by that of the first, minus 1; null with one round."""
    drift_p_value: float | None = None
    """Chance of medians so different between rounds if nothing drifted; null with one round."""
