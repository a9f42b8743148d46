"""Columns about the tokens of a generation."""

from runner.contract.cell import Frozen
from runner.contract.record.ranges import NonNegative, Positive


class Generation(Frozen):
    """Prefill and decode apart. Percentiles are null where too few samples support them."""

    time_to_first_token_mean_s: Positive[float] | None = None
    """Mean time from the prompt to the first token, seconds."""
    time_to_first_token_median_s: Positive[float] | None = None
    """Median, seconds; with several rounds the mean of their medians."""
    time_to_first_token_median_low_s: Positive[float] | None = None
    """Lower end of the median's 95 % interval, seconds."""
    time_to_first_token_median_high_s: Positive[float] | None = None
    """Upper end of the median's 95 % interval, seconds."""
    time_to_first_token_stddev_s: NonNegative[float] | None = None
    """Sample standard deviation, seconds."""
    time_to_first_token_p50_s: Positive[float] | None = None
    """50th percentile, seconds."""
    time_to_first_token_p90_s: Positive[float] | None = None
    """90th percentile, seconds."""
    time_to_first_token_p90_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_to_first_token_p90_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    time_to_first_token_p95_s: Positive[float] | None = None
    """95th percentile, seconds."""
    time_to_first_token_p95_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_to_first_token_p95_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    time_to_first_token_p99_s: Positive[float] | None = None
    """99th percentile, seconds."""
    time_to_first_token_p99_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_to_first_token_p99_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    time_to_first_token_p999_s: Positive[float] | None = None
    """99.9th percentile, seconds."""
    time_to_first_token_p999_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_to_first_token_p999_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    time_per_output_token_mean_s: Positive[float] | None = None
    """Mean over generations of (end - first token) / (tokens - 1), seconds; as MLPerf and vLLM."""
    time_per_output_token_median_s: Positive[float] | None = None
    """Median, seconds; with several rounds the mean of their medians."""
    time_per_output_token_median_low_s: Positive[float] | None = None
    """Lower end of the median's 95 % interval, seconds."""
    time_per_output_token_median_high_s: Positive[float] | None = None
    """Upper end of the median's 95 % interval, seconds."""
    time_per_output_token_stddev_s: NonNegative[float] | None = None
    """Sample standard deviation, seconds."""
    time_per_output_token_p50_s: Positive[float] | None = None
    """50th percentile, seconds."""
    time_per_output_token_p90_s: Positive[float] | None = None
    """90th percentile, seconds."""
    time_per_output_token_p90_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_per_output_token_p90_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    time_per_output_token_p95_s: Positive[float] | None = None
    """95th percentile, seconds."""
    time_per_output_token_p95_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_per_output_token_p95_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    time_per_output_token_p99_s: Positive[float] | None = None
    """99th percentile, seconds."""
    time_per_output_token_p99_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_per_output_token_p99_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    time_per_output_token_p999_s: Positive[float] | None = None
    """99.9th percentile, seconds."""
    time_per_output_token_p999_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    time_per_output_token_p999_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    inter_token_latency_mean_s: Positive[float] | None = None
    """Mean gap between two tokens, all gaps of all generations pooled, seconds."""
    inter_token_latency_median_s: Positive[float] | None = None
    """Median, seconds."""
    inter_token_latency_stddev_s: NonNegative[float] | None = None
    """Sample standard deviation, seconds."""
    inter_token_latency_p50_s: Positive[float] | None = None
    """50th percentile, seconds."""
    inter_token_latency_p90_s: Positive[float] | None = None
    """90th percentile, seconds."""
    inter_token_latency_p90_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    inter_token_latency_p90_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    inter_token_latency_p95_s: Positive[float] | None = None
    """95th percentile, seconds."""
    inter_token_latency_p95_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    inter_token_latency_p95_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    inter_token_latency_p99_s: Positive[float] | None = None
    """99th percentile, seconds."""
    inter_token_latency_p99_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    inter_token_latency_p99_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    inter_token_latency_p999_s: Positive[float] | None = None
    """99.9th percentile, seconds."""
    inter_token_latency_p999_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    inter_token_latency_p999_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    decode_throughput: Positive[float] | None = None
    """Tokens per second after the first: batch_size × (new_tokens - 1) / (t_last - t_first)."""
    token_throughput: Positive[float] | None = None
    """New tokens per second, prefill included: batch_size × new_tokens / latency."""
