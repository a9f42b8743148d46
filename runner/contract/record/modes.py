"""Columns of single modes and scenarios; see `ENDING_DOCS` for those without a docstring."""

from runner.contract.cell import Frozen
from runner.contract.record.ranges import Deviation, Finite, Fraction, NonNegative, Positive


class Arrivals(Frozen):
    """The scenarios `offline` and `server`."""

    achieved_qps: Positive[float] | None = None
    """Queries per second that were completed; null unless the scenario is `server`."""
    service_median_s: Positive[float] | None = None
    """Median time from a query's start to its end, waiting left out, seconds; `server` alone."""
    slo_met: bool | None = None
    """Whether the 99th percentile from arrival met `slo_ms`; null where nothing was sought."""
    peak_qps: Positive[float] | None = None
    """The highest rate that MLPerf's count accepts: 99 % of latencies within `slo_ms`; or null."""
    peak_qps_low: Positive[float] | None = None
    """Lower end of the bracket that holds the peak: the highest rate that was accepted, less what
    fresh processes differ by; or null."""
    peak_qps_high: Positive[float] | None = None
    """Upper end: the lowest rate that was rejected, or one query per mean service time; likewise
    more."""
    search: list[str] | None = None
    """What was tried to find the batch or the rate, in order, with the sample counts."""
    offline_batches: list[int] | None = None
    """Batches that `offline` tried, upward: its curve, of which the next columns are a part each;
    null in other scenarios."""
    offline_queries: list[int] | None = None
    """Queries at each batch tried."""
    offline_throughputs: list[float] | None = None
    """Samples per second at each batch tried, by the median of its queries."""
    offline_latencies_s: list[float] | None = None
    """Median time of a query at each batch tried, seconds."""
    offline_memory_bytes: list[int] | None = None
    """Highest memory use at each batch tried, bytes: of an accelerator's own memory where it has
    some, else of the host's."""


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
    time_to_first_token_p50_s: Positive[float] | None = None
    time_to_first_token_p90_s: Positive[float] | None = None
    time_to_first_token_p90_low_s: Positive[float] | None = None
    time_to_first_token_p90_high_s: Positive[float] | None = None
    time_to_first_token_p95_s: Positive[float] | None = None
    time_to_first_token_p95_low_s: Positive[float] | None = None
    time_to_first_token_p95_high_s: Positive[float] | None = None
    time_to_first_token_p99_s: Positive[float] | None = None
    time_to_first_token_p99_low_s: Positive[float] | None = None
    time_to_first_token_p99_high_s: Positive[float] | None = None
    time_to_first_token_p999_s: Positive[float] | None = None
    time_to_first_token_p999_low_s: Positive[float] | None = None
    time_to_first_token_p999_high_s: Positive[float] | None = None
    time_per_output_token_mean_s: Positive[float] | None = None
    """Mean over generations of (end - first token) / (tokens - 1), seconds; as MLPerf and vLLM."""
    time_per_output_token_median_s: Positive[float] | None = None
    """Median, seconds; with several rounds the mean of their medians."""
    time_per_output_token_median_low_s: Positive[float] | None = None
    """Lower end of the median's 95 % interval, seconds."""
    time_per_output_token_median_high_s: Positive[float] | None = None
    """Upper end of the median's 95 % interval, seconds."""
    time_per_output_token_stddev_s: NonNegative[float] | None = None
    time_per_output_token_p50_s: Positive[float] | None = None
    time_per_output_token_p90_s: Positive[float] | None = None
    time_per_output_token_p90_low_s: Positive[float] | None = None
    time_per_output_token_p90_high_s: Positive[float] | None = None
    time_per_output_token_p95_s: Positive[float] | None = None
    time_per_output_token_p95_low_s: Positive[float] | None = None
    time_per_output_token_p95_high_s: Positive[float] | None = None
    time_per_output_token_p99_s: Positive[float] | None = None
    time_per_output_token_p99_low_s: Positive[float] | None = None
    time_per_output_token_p99_high_s: Positive[float] | None = None
    time_per_output_token_p999_s: Positive[float] | None = None
    time_per_output_token_p999_low_s: Positive[float] | None = None
    time_per_output_token_p999_high_s: Positive[float] | None = None
    inter_token_latency_mean_s: Positive[float] | None = None
    """Mean gap between two tokens, all gaps of all generations pooled, seconds."""
    inter_token_latency_median_s: Positive[float] | None = None
    inter_token_latency_stddev_s: NonNegative[float] | None = None
    inter_token_latency_p50_s: Positive[float] | None = None
    inter_token_latency_p90_s: Positive[float] | None = None
    inter_token_latency_p90_low_s: Positive[float] | None = None
    inter_token_latency_p90_high_s: Positive[float] | None = None
    inter_token_latency_p95_s: Positive[float] | None = None
    inter_token_latency_p95_low_s: Positive[float] | None = None
    inter_token_latency_p95_high_s: Positive[float] | None = None
    inter_token_latency_p99_s: Positive[float] | None = None
    inter_token_latency_p99_low_s: Positive[float] | None = None
    inter_token_latency_p99_high_s: Positive[float] | None = None
    inter_token_latency_p999_s: Positive[float] | None = None
    inter_token_latency_p999_low_s: Positive[float] | None = None
    inter_token_latency_p999_high_s: Positive[float] | None = None
    decode_throughput: Positive[float] | None = None
    """Tokens per second after the first: batch_size × (new_tokens - 1) / (t_last - t_first)."""
    token_throughput: Positive[float] | None = None
    """New tokens per second, prefill included: batch_size × new_tokens / latency."""


class Training(Frozen):
    """Parts of a training step; `latency_*` is the whole step."""

    forward_mean_s: NonNegative[float] | None = None
    """Mean time of the forward pass, seconds."""
    forward_median_s: NonNegative[float] | None = None
    loss_mean_s: NonNegative[float] | None = None
    """Mean time of the loss, seconds; null where the model computes it inside its forward pass."""
    loss_median_s: NonNegative[float] | None = None
    backward_mean_s: NonNegative[float] | None = None
    """Mean time of the backward pass, seconds."""
    backward_median_s: NonNegative[float] | None = None
    optimizer_mean_s: NonNegative[float] | None = None
    """Mean time of the optimizer's step, gradients cleared included, seconds."""
    optimizer_median_s: NonNegative[float] | None = None
    training_loss_first: Finite | None = None
    """Loss of the first step."""
    training_loss_last: Finite | None = None
    """Loss of the last step."""
    training_scale: NonNegative[float] | None = None
    """Factor of the loss at the end, by which gradients stay within fp16; null without one."""
    training_steps_skipped: NonNegative[int] | None = None
    """Timed steps in which a scaled gradient overflowed, so that the optimizer's step was left out;
    null where no loss is scaled."""
    training_changed_share: Fraction | None = None
    """Share of kept elements, at least 64 of each parameter, that gradients have changed; rows of
    embeddings that the batch does not name have none."""
    gradients_compared: NonNegative[int] | None = None
    """Parameters whose gradient in one step was compared with the fp32 CPU reference's; rounding
    alone decides the others' in this precision. Null if none was compared."""
    gradient_difference: Deviation | None = None
    """Difference nearest to its tolerance, or farthest beyond: of one parameter's gradient or
    update, or of the loss, by the reference's."""
    gradient_tolerance: NonNegative[float] | None = None
    """What it is allowed in this precision."""
    gradient_where: str | None = None
    """Which difference that is, e.g. `gradient of decoder.weight`."""


class Startup(Frozen):
    """Stages of starts in fresh interpreters.

    `latency_*` is from launch to first output, the runner's own imports left out, with all files in
    the page cache; cold starts begin behind a drop of the files that a start opens.
    """

    startup_warm_interpreter_median_s: NonNegative[float] | None = None
    """Median time of warm starts from launching the interpreter to our first line, seconds."""
    startup_warm_interpreter_median_low_s: NonNegative[float] | None = None
    startup_warm_interpreter_median_high_s: NonNegative[float] | None = None
    startup_warm_import_median_s: NonNegative[float] | None = None
    """Median time of warm starts to import the runtime, seconds."""
    startup_warm_import_median_low_s: NonNegative[float] | None = None
    startup_warm_import_median_high_s: NonNegative[float] | None = None
    startup_warm_instantiate_median_s: NonNegative[float] | None = None
    """Median time of warm starts to find and initialise the device and to build the model's classes
    and empty parameters, seconds."""
    startup_warm_instantiate_median_low_s: NonNegative[float] | None = None
    startup_warm_instantiate_median_high_s: NonNegative[float] | None = None
    startup_warm_weights_median_s: NonNegative[float] | None = None
    """Median time of warm starts to fill or load weights and move them to the device, seconds."""
    startup_warm_weights_median_low_s: NonNegative[float] | None = None
    startup_warm_weights_median_high_s: NonNegative[float] | None = None
    startup_warm_first_query_median_s: NonNegative[float] | None = None
    """Median time of warm starts to bind the inputs and execute the first query, seconds."""
    startup_warm_first_query_median_low_s: NonNegative[float] | None = None
    startup_warm_first_query_median_high_s: NonNegative[float] | None = None
    startup_cold_interpreter_median_s: NonNegative[float] | None = None
    """Median time of cold starts from launching the interpreter to our first line, seconds."""
    startup_cold_interpreter_median_low_s: NonNegative[float] | None = None
    startup_cold_interpreter_median_high_s: NonNegative[float] | None = None
    startup_cold_import_median_s: NonNegative[float] | None = None
    """Median time of cold starts to import the runtime, seconds."""
    startup_cold_import_median_low_s: NonNegative[float] | None = None
    startup_cold_import_median_high_s: NonNegative[float] | None = None
    startup_cold_instantiate_median_s: NonNegative[float] | None = None
    """Median time of cold starts to find and initialise the device and to build the model's classes
    and empty parameters, seconds."""
    startup_cold_instantiate_median_low_s: NonNegative[float] | None = None
    startup_cold_instantiate_median_high_s: NonNegative[float] | None = None
    startup_cold_weights_median_s: NonNegative[float] | None = None
    """Median time of cold starts to fill or load weights and move them to the device, seconds."""
    startup_cold_weights_median_low_s: NonNegative[float] | None = None
    startup_cold_weights_median_high_s: NonNegative[float] | None = None
    startup_cold_first_query_median_s: NonNegative[float] | None = None
    """Median time of cold starts to bind the inputs and execute the first query, seconds."""
    startup_cold_first_query_median_low_s: NonNegative[float] | None = None
    startup_cold_first_query_median_high_s: NonNegative[float] | None = None
    startup_cold_median_s: NonNegative[float] | None = None
    """Median time of cold starts from launch to first output, seconds; `latency_*` is the warm
    ones'. Null where more than half of the files' pages could not be dropped."""
    startup_cold_median_low_s: NonNegative[float] | None = None
    startup_cold_median_high_s: NonNegative[float] | None = None
    startup_cold_resident_share: Fraction | None = None
    """Share of the files' pages that stayed in memory as they were dropped: other processes had
    them mapped, or the file system lies in memory. Where the kernel does not tell of others' files,
    share of the mapped pages that the first cold start had not to read; null where neither is."""
    concurrent_workers: Positive[int] | None = None
    """Processes that loaded at once."""
    concurrent_time_s: Positive[float] | None = None
    """Time from launching the first of them to the last one's loaded model, seconds."""
    concurrent_models_per_second: Positive[float] | None = None
    """concurrent_workers / concurrent_time_s."""
    concurrent_speedup: Positive[float] | None = None
    """The same number of starts one after the other, by concurrent_time_s; all until loaded."""
