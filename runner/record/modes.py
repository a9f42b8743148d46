"""Columns that one mode or scenario fills."""

from runner.cell import Frozen


class Generation(Frozen):
    """Prefill and decode apart. Percentiles are null where too few samples support them."""

    time_to_first_token_mean_s: float | None = None
    """Mean time from the prompt to the first token, seconds."""
    time_to_first_token_median_s: float | None = None
    """Median, seconds."""
    time_to_first_token_stddev_s: float | None = None
    """Sample standard deviation, seconds."""
    time_to_first_token_p50_s: float | None = None
    """50th percentile, seconds."""
    time_to_first_token_p90_s: float | None = None
    """90th percentile, seconds."""
    time_to_first_token_p95_s: float | None = None
    """95th percentile, seconds."""
    time_to_first_token_p99_s: float | None = None
    """99th percentile, seconds."""
    time_to_first_token_p999_s: float | None = None
    """99.9th percentile, seconds."""
    time_per_output_token_mean_s: float | None = None
    """Mean time from one token to the next, the first token left out, seconds."""
    time_per_output_token_median_s: float | None = None
    """Median, seconds."""
    time_per_output_token_stddev_s: float | None = None
    """Sample standard deviation, seconds."""
    time_per_output_token_p50_s: float | None = None
    """50th percentile, seconds."""
    time_per_output_token_p90_s: float | None = None
    """90th percentile, seconds."""
    time_per_output_token_p95_s: float | None = None
    """95th percentile, seconds."""
    time_per_output_token_p99_s: float | None = None
    """99th percentile, seconds."""
    time_per_output_token_p999_s: float | None = None
    """99.9th percentile, seconds."""
    decode_throughput: float | None = None
    """Tokens per second after the first: batch_size × (new_tokens - 1) / (t_last - t_first)."""
    token_throughput: float | None = None
    """New tokens per second, prefill included: batch_size × new_tokens / latency."""


class Training(Frozen):
    """Parts of a training step; `latency_*` is the whole step."""

    forward_mean_s: float | None = None
    """Mean time of the forward pass, seconds."""
    forward_median_s: float | None = None
    """Median, seconds."""
    loss_mean_s: float | None = None
    """Mean time of the loss, seconds; null where the model computes it inside its forward pass."""
    loss_median_s: float | None = None
    """Median, seconds."""
    backward_mean_s: float | None = None
    """Mean time of the backward pass, seconds."""
    backward_median_s: float | None = None
    """Median, seconds."""
    optimizer_mean_s: float | None = None
    """Mean time of the optimizer's step, gradients cleared included, seconds."""
    optimizer_median_s: float | None = None
    """Median, seconds."""
    training_loss_first: float | None = None
    """Loss of the first step."""
    training_loss_last: float | None = None
    """Loss of the last step."""


class Startup(Frozen):
    """Stages of cold starts in fresh interpreters.

    `latency_*` is from launch to first output, the runner's own imports left out.
    """

    startup_interpreter_mean_s: float | None = None
    """Mean time from launching the interpreter to our first line, seconds."""
    startup_interpreter_stddev_s: float | None = None
    """Sample standard deviation, seconds."""
    startup_import_mean_s: float | None = None
    """Mean time to import the runtime, seconds."""
    startup_import_stddev_s: float | None = None
    """Sample standard deviation, seconds."""
    startup_instantiate_mean_s: float | None = None
    """Mean time to build the model's classes and empty parameters, seconds."""
    startup_instantiate_stddev_s: float | None = None
    """Sample standard deviation, seconds."""
    startup_weights_mean_s: float | None = None
    """Mean time to fill or load the weights and move them to the device, seconds."""
    startup_weights_stddev_s: float | None = None
    """Sample standard deviation, seconds."""
    startup_first_query_mean_s: float | None = None
    """Mean time to bind the inputs, made before, and to execute the first query, seconds."""
    startup_first_query_stddev_s: float | None = None
    """Sample standard deviation, seconds."""
    concurrent_workers: int | None = None
    """Processes that loaded at once."""
    concurrent_time_s: float | None = None
    """Time from launching the first of them to the last one's loaded model, seconds."""
    concurrent_models_per_second: float | None = None
    """concurrent_workers / concurrent_time_s."""
    concurrent_speedup: float | None = None
    """The same number of starts one after the other, by concurrent_time_s; all until loaded."""


class Arrivals(Frozen):
    """The scenarios `offline` and `server`."""

    achieved_qps: float | None = None
    """Queries per second that were completed; null unless the scenario is `server`."""
    service_median_s: float | None = None
    """Median time from a query's start to its end, waiting left out, seconds; `server` alone."""
    slo_met: bool | None = None
    """Whether the 99th percentile from arrival met `slo_ms`; null where nothing was sought."""
    peak_qps: float | None = None
    """The highest rate whose 99th percentile from arrival met `slo_ms`; null if none was found."""
    search: list[str] | None = None
    """What was tried to find the batch or the rate, in order, with the sample counts."""
