"""Columns that every mode fills; see `ENDING_DOCS` for those without a docstring."""

from typing import Literal

from runner.contract.cell import Frozen
from runner.contract.record.ranges import Correlation, Finite, Fraction, NonNegative, Positive


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
    round_bursts: list[int] | None = None
    """Bursts of each round, in order, that it took in turns with others loaded beside it; null
    where it was measured alone."""
    burst_iterations: list[int] | None = None
    """Timed iterations of each burst, of all rounds in order; null likewise."""
    burst_dropped: list[int] | None = None
    """Iterations at the beginning of each burst that were not counted as caches were not warm
    again, by round; null likewise."""
    burst_rest_s: NonNegative[float] | None = None
    """Seconds behind a burst until its threads rested: the median of the slowest round; null
    likewise."""
    burst_clocks_hz: list[float] | None = None
    """The accelerator's clock right behind each burst; null where it is not known."""
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
    """What `process_spread` is known from: a calibration of the host, its history of
    launches, or a stated default."""
    process_spread_processes: Positive[int] | None = None
    """Processes of that calibration or history; null for the default."""
    process_spread_degrees: Positive[float] | None = None
    """Degrees of freedom of that calibration or history; null for the default."""
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
    latency_p90_low_s: Positive[float] | None = None
    latency_p90_high_s: Positive[float] | None = None
    latency_p95_s: Positive[float] | None = None
    latency_p95_low_s: Positive[float] | None = None
    latency_p95_high_s: Positive[float] | None = None
    latency_p99_s: Positive[float] | None = None
    latency_p99_low_s: Positive[float] | None = None
    latency_p99_high_s: Positive[float] | None = None
    latency_p999_s: Positive[float] | None = None
    latency_p999_low_s: Positive[float] | None = None
    latency_p999_high_s: Positive[float] | None = None
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


class Efficiency(Frozen):
    """Counted work and measured peaks; the view `efficiency` divides them.

    All are null for models that nobody counted, for starts, and where times say nothing of a
    device: on the fake backend and on simulators.
    """

    flops_per_iteration: Positive[int] | None = None
    """Floating-point operations of one iteration: two for each multiply-accumulate of matrix
    products and convolutions, counted from the model, not by the device."""
    bytes_per_iteration: Positive[int] | None = None
    """Bytes that one iteration must read or write, however large caches are: each weight once a
    pass, inputs, outputs, what tokens were cached; counted likewise, and a lower bound."""
    prefill_flops: Positive[int] | None = None
    """Those of the FLOPs up to the first token; null unless tokens are generated."""
    prefill_bytes: Positive[int] | None = None
    """Those of the bytes up to the first token; null likewise."""
    peak_flops_per_s: Positive[float] | None = None
    """FLOP per second of a product of large matrices in this precision, by this runtime with these
    threads, before the first cell of the job; null where it has no such product."""
    peak_bytes_per_s: Positive[float] | None = None
    """Bytes per second that a copy between arrays larger than the last cache reads and writes;
    null where the memory that a job may use has no room for them."""
    peak_method: str | None = None
    """Calls and sizes behind both peaks, or why there are none."""
    device_cache_bytes: Positive[int] | None = None
    """Last cache of the CPUs or of the accelerator, bytes: what fits in need not come from memory;
    null where none is shown."""


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

    page_faults: NonNegative[float] | None = None
    """Minor page faults of the process by its timed iterations: most are new memory. Null in
    browsers, in `startup`, where a peak is sought, and where the kernel counts none."""
    page_fault_s: NonNegative[float] | None = None
    """Seconds that one costs, measured behind the steady phase; null likewise."""

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
