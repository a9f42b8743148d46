"""Columns about time that every mode fills."""

from typing import Literal

from runner.contract.cell import Frozen
from runner.contract.record.ranges import (
    Correlation,
    Deviation,
    Finite,
    Fraction,
    NonNegative,
    Positive,
)


class Timing(Frozen):
    """Load, first, warm-up and steady phase. A latency is the time of one query or iteration."""

    parameters: NonNegative[int] | None = None
    """Parameters of the model, counted after it was built."""
    import_time_s: NonNegative[float] | None = None
    """Seconds to import the runtime, before `load`."""
    load_time_s: NonNegative[float] | None = None
    """Seconds to build the model, fill its weights and move it to the device."""
    first_latency_s: Positive[float] | None = None
    """Seconds of the first query at this shape, before the warm-up."""
    warmup_iterations: NonNegative[int] | None = None
    """Queries between the first one and the steady phase."""
    warmup_time_s: NonNegative[float] | None = None
    """Seconds the warm-up took, and the heating before it."""
    heat_s: NonNegative[float] | None = None
    """Seconds of queries that were asked for ahead of each round's warm-up, to heat the machine;
    null if none were."""
    warmup_settled: bool | None = None
    """Whether the warm-up settled, in every round."""
    timed_region: str | None = None
    """What lies between the two clock readings of an iteration."""

    device_median_s: Positive[float] | None = None
    """Median of a forward pass with inputs and outputs in the device's memory, seconds; null where
    the runtime copies within each query, and for other modes and `server`."""
    host_to_host_median_s: Positive[float] | None = None
    """Median of a forward pass from inputs in host memory to outputs there, seconds: the latency,
    or where that lies on an accelerator a few queries behind it; null likewise."""

    iterations: Positive[int] | None = None
    """Timed queries of the steady phase."""
    rounds: Positive[int] | None = None
    """Launches that took an equal share of the iterations: fresh processes, fresh loads."""
    round_iterations: list[int] | None = None
    """Iterations of each round, in order."""
    round_medians: list[float] | None = None
    """Median of each round, seconds, in order; null in records that do not tell."""
    latency_between_process_cv: NonNegative[float] | None = None
    """Coefficient of variation of the round medians; null with one round."""
    effective_rounds: NonNegative[float] | None = None
    """Independent rounds that they count as: the error of their mean is their medians' standard
    deviation by its root. Fewer than there are where they followed each other within a minute; null
    with one round."""
    round_degrees: NonNegative[float] | None = None
    """Degrees of freedom of the round medians' standard deviation; null with one round."""
    process_spread: NonNegative[float] | None = None
    """Relative deviation between fresh processes that the interval of a record of one process
    allows for, multiplied by its queue at a set rate; null where the interval comes from several
    processes."""
    process_spread_source: str | None = None
    """What `process_spread` is known from: a calibration of the host, or a stated default."""
    process_spread_processes: Positive[int] | None = None
    """Processes of that calibration; null for the default."""
    process_spread_degrees: Positive[float] | None = None
    """Degrees of freedom of that calibration; null for the default."""
    process_spread_queue: Positive[float] | None = None
    """Factor by which its queue multiplied it; null where it did not."""
    steady_time_s: Positive[float] | None = None
    """Sum of the timed queries, seconds; in `server` from the first arrival to the last end."""
    throughput: Positive[float] | None = None
    """Samples per second: batch_size × iterations / steady_time_s."""
    latency_mean_s: Positive[float] | None = None
    """Arithmetic mean, seconds."""
    latency_median_s: Positive[float] | None = None
    """Median, seconds; with several rounds the mean of their medians."""
    latency_median_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds: over the round medians, or of one process and what
    processes differ by; null where neither rounds nor iterations suffice."""
    latency_median_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds; null likewise."""
    latency_precision: NonNegative[float] | None = None
    """The median's ±: half the width of that interval, by the median; 0.01 is 1 %."""
    latency_min_s: Positive[float] | None = None
    """Fastest, seconds."""
    latency_max_s: Positive[float] | None = None
    """Slowest, seconds."""
    latency_stddev_s: NonNegative[float] | None = None
    """Sample standard deviation, seconds; null with fewer than two iterations."""
    latency_mad_s: NonNegative[float] | None = None
    """Median absolute deviation from the median of all iterations, unscaled, seconds."""
    latency_cv: NonNegative[float] | None = None
    """Coefficient of variation: standard deviation by mean; null with fewer than two iterations."""
    latency_p50_s: Positive[float] | None = None
    """Median of all rounds together, seconds; null, as all percentiles, if too few support it."""
    latency_p90_s: Positive[float] | None = None
    """90th percentile, seconds."""
    latency_p90_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    latency_p90_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    latency_p95_s: Positive[float] | None = None
    """95th percentile, seconds."""
    latency_p95_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    latency_p95_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    latency_p99_s: Positive[float] | None = None
    """99th percentile, seconds."""
    latency_p99_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    latency_p99_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    latency_p999_s: Positive[float] | None = None
    """99.9th percentile, seconds."""
    latency_p999_low_s: Positive[float] | None = None
    """Lower end of its 95 % interval, seconds."""
    latency_p999_high_s: Positive[float] | None = None
    """Upper end of its 95 % interval, seconds."""
    percentile_iterations_needed: dict[str, int] | None = None
    """Independent samples that support each percentile at 99 %, by its name, e.g. `p99`."""
    outliers: NonNegative[int] | None = None
    """Iterations whose modified z-score is beyond 3.5; counted, never removed."""
    autocorrelation: Correlation | None = None
    """Correlation of each duration with the next one; null where it is not defined."""
    effective_iterations: NonNegative[float] | None = None
    """Independent iterations that would tell as much, by Geyer's initial positive sequence."""
    drift: Finite | None = None
    """Range of the round medians by their mean; null with one round."""
    drift_p_value: Fraction | None = None
    """Chance of such a range, or order, if only processes differed; null with one round."""
    steady_change: Finite | None = None
    """The surest change inside a round's steady phase: median behind it by the one before, minus 1;
    null where there are too few iterations to show one."""
    steady_change_kind: Literal["step", "trend"] | None = None
    """Whether a step or a straight line explains the durations better; null likewise."""
    steady_change_p_value: Fraction | None = None
    """Chance of so large a change if no round changed its level; null likewise."""


class Training(Frozen):
    """Parts of a training step; `latency_*` is the whole step."""

    forward_mean_s: NonNegative[float] | None = None
    """Mean time of the forward pass, seconds."""
    forward_median_s: NonNegative[float] | None = None
    """Median, seconds."""
    loss_mean_s: NonNegative[float] | None = None
    """Mean time of the loss, seconds; null where the model computes it inside its forward pass."""
    loss_median_s: NonNegative[float] | None = None
    """Median, seconds."""
    backward_mean_s: NonNegative[float] | None = None
    """Mean time of the backward pass, seconds."""
    backward_median_s: NonNegative[float] | None = None
    """Median, seconds."""
    optimizer_mean_s: NonNegative[float] | None = None
    """Mean time of the optimizer's step, gradients cleared included, seconds."""
    optimizer_median_s: NonNegative[float] | None = None
    """Median, seconds."""
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


class Resources(Frozen):
    """Memory in bytes, energy in joules; each with how it was measured or why it was not."""

    memory_peak_bytes: Positive[int] | None = None
    """Highest memory use while the cell ran, bytes."""
    memory_steady_peak_bytes: Positive[int] | None = None
    """Highest memory use from the end of the warm-up on, bytes."""
    memory_average_bytes: Positive[int] | None = None
    """Mean memory use over untimed iterations, bytes."""
    memory_load_peak_bytes: Positive[int] | None = None
    """Highest memory use while the model was loaded, bytes."""
    memory_baseline_bytes: Positive[int] | None = None
    """Memory use before the runtime was imported, bytes."""
    memory_method: str | None = None
    """How memory was measured."""
    memory_allocator_peak_bytes: NonNegative[int] | None = None
    """Highest use that an accelerator's allocator saw, bytes; null where there is none."""
    memory_device_peak_bytes: NonNegative[int] | None = None
    """Use of the accelerator's memory less its use before the load, bytes; null likewise."""
    memory_wasm_bytes: NonNegative[int] | None = None
    """Size of a page's memories of WebAssembly in the untimed pass, bytes; they never shrink. Null
    outside browsers."""
    memory_gpu_buffer_bytes: NonNegative[int] | None = None
    """Buffers of WebGPU that a page holds between two queries of the untimed pass, bytes; null on
    other backends."""
    memory_gpu_buffer_peak_bytes: NonNegative[int] | None = None
    """Highest use by a page's buffers of WebGPU, loading included, bytes; null likewise."""

    energy_joules: Positive[float] | None = None
    """Energy that counters added up over the steady phase, joules."""
    energy_per_sample_joules: Positive[float] | None = None
    """Joules per sample; null in `startup`, whose window holds more than the starts' times."""
    energy_per_token_joules: Positive[float] | None = None
    """Joules per new token; null unless tokens are generated."""
    energy_window_s: Positive[float] | None = None
    """Wall seconds between the two readings of the counters."""
    energy_method: str | None = None
    """Which counters were read, or `unavailable: ` and the reason."""
    energy_scope: str | None = None
    """What `energy_joules` holds: `package + dram` of processors, `board` of an accelerator without
    the host that feeds it; results of different scopes do not compare. Null without energy."""
    energy_host_joules: Positive[float] | None = None
    """Energy of the processor's packages and memory in the same window, beside an accelerator's
    board, joules; null where it is in `energy_joules` already, or where no counter can be read."""
