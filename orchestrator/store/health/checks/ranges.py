"""Ranges of columns and the order of numbers that belong together, as the SQL of checks.

One row a column says what it can be. Seeds may be any number, so they have no row.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from analysis.results.source import text
from orchestrator.store.schema.tables import REQUIRED, RESULTS

_TOO_LARGE = "too_large()"


@dataclass(frozen=True)
class Range:
    """The numbers that a column can hold."""

    fault: str
    """The macro that puts a number outside of it into words, with `{}` for the column."""
    low: str | None = None
    """The condition on the smallest of several columns."""
    high: str | None = None
    """The condition on the largest."""

    def is_broken(self, columns: Sequence[str]) -> str:
        """The condition under which one of these columns is outside; nulls are not."""
        names = ", ".join(f"r.{column}" for column in columns)
        held = [f"least({names}) {self.low}"] if self.low else []
        held += [f"greatest({names}) {self.high}"] if self.high else []
        return f"NOT ({' AND '.join(held)})"


SIZES = Range("no_size({})", "> 0")
POSITIVE = Range("not_positive(r.source, {})", "> 0", f"< {_TOO_LARGE}")
"""Zeros of others are a check of their own."""
NOT_NEGATIVE = Range("negative({})", ">= 0", f"< {_TOO_LARGE}")
DIFFERENCE = Range("below_zero({})", ">= 0")
"""From outputs that are zero or no numbers a difference may be infinite."""
SHARE = Range("outside({}, 0, 1)", ">= 0", "<= 1")
CORRELATION = Range("outside({}, -1.000001, 1.000001)", ">= -1.000001", "<= 1.000001")
FINITE = Range("infinite({})", "> '-inf'::DOUBLE", "< 'inf'::DOUBLE")

_TAILS = ("p90", "p95", "p99", "p999")
_PERCENTILES = ("p50", *_TAILS)
_TOKENS = ("time_to_first_token", "time_per_output_token", "inter_token_latency")
_TIMES = ("latency", *_TOKENS)
_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
_STARTS = (*(f"{kind}_{stage}" for stage in _STAGES for kind in ("warm", "cold")), "cold")
_STEPS = ("forward", "loss", "backward", "optimizer")
_MEDIANS = tuple(f"{name}_median" for name in ("latency", *_TOKENS[:2]))
_WITH_INTERVAL = (
    *((name, "_s") for name in _MEDIANS),
    *((f"{time}_{tail}", "_s") for time in _TIMES for tail in _TAILS),
)
"""Columns with the ends of their 95 % interval, each with its unit; a peak has them too."""

_ROWS: Mapping[Range, Sequence[str]] = {
    SIZES: (
        "batch_size",
        "sequence_length",
        "image_size",
        "audio_seconds",
        "new_tokens",
        "workers",
    ),
    POSITIVE: (
        *("target_qps", "slo_ms", "iterations", "flops_per_iteration", "bytes_per_iteration"),
        *("prefill_flops", "prefill_bytes", "peak_flops_per_s", "peak_bytes_per_s"),
        *(
            "device_cache_bytes",
            "rounds",
            "schema_version",
            "first_latency_s",
            "steady_time_s",
            "service_median_s",
        ),
        *(f"{time}_{name}_s" for time in _TIMES for name in ("mean", "median", *_PERCENTILES)),
        *(f"{name}_{end}{unit}" for name, unit in _WITH_INTERVAL for end in ("low", "high")),
        *("latency_min_s", "latency_max_s", "throughput", "token_throughput", "decode_throughput"),
        *("achieved_qps", "peak_qps", "peak_qps_low", "peak_qps_high", "concurrent_workers"),
        *("concurrent_time_s", "concurrent_models_per_second", "concurrent_speedup", "threads"),
        *(f"memory_{name}_bytes" for name in ("peak", "steady_peak", "average", "load_peak")),
        *("memory_baseline_bytes", "container_memory_limit_bytes", "container_cpu_limit"),
        *("energy_joules", "energy_per_sample_joules", "energy_per_token_joules"),
        *("energy_window_s", "energy_host_joules", "device_median_s", "host_to_host_median_s"),
        *("device_power_limit_watts", "device_pcie_width", "device_pcie_generation"),
        *("device_memory_bytes", "device_compute_units", "cpu_threads_per_core", "numa_nodes"),
        *(f"cpu_clock{name}_hz" for name in ("_before", "", "_low", "_after")),
    ),
    NOT_NEGATIVE: (
        *("import_time_s", "load_time_s", "compile_time_s", "cached_compile_time_s"),
        *("warmup_iterations", "warmup_time_s", "heat_s", "outliers", "effective_iterations"),
        *(f"{time}_stddev_s" for time in _TIMES),
        *("latency_mad_s", "latency_cv", "latency_between_process_cv", "effective_rounds"),
        *("round_degrees", "process_spread", "latency_precision", "training_scale"),
        *("training_steps_skipped", "gradients_compared", "gradient_tolerance"),
        *(f"{step}_{name}_s" for step in _STEPS for name in ("mean", "median")),
        *(f"startup_{name}_median{end}_s" for name in _STARTS for end in ("", "_low", "_high")),
        *("memory_allocator_peak_bytes", "memory_device_peak_bytes", "memory_wasm_bytes"),
        *("memory_gpu_buffer_bytes", "memory_gpu_buffer_peak_bytes", "load_average_1m"),
        *("noise_kernel_spread_before", "noise_kernel_spread_after", "clock_resolution_s"),
        *("harness_overhead_s", "device_clock_hz", "tolerance", "tolerance_row"),
        *("tolerance_mean", "interop_threads", "parameters", "noise_throttled_periods"),
        *("noise_involuntary_switches", "noise_throttled_s", "noise_daemon_share"),
        *("noise_daemon_beats", "cpu_throttle_events", "cpu_throttled_s"),
    ),
    DIFFERENCE: (
        *("difference_max_abs", "difference_relative", "difference_row", "difference_mean"),
        *("tolerance_share", "gradient_difference", "graph_difference_relative"),
    ),
    SHARE: (
        *("drift_p_value", "steady_change_p_value", "token_agreement", "kernel_share"),
        *("training_changed_share", "startup_cold_resident_share", "noise_steal"),
    ),
    CORRELATION: ("autocorrelation",),
    FINITE: (
        *("drift", "steady_change", "noise_score", "noise_other_load", "noise_kernel_shift"),
        *("training_loss_first", "training_loss_last", "device_temperature_c"),
    ),
}
RANGES: Mapping[str, Range] = {name: range_ for range_, names in _ROWS.items() for name in names}
"""The range of each column of numbers."""
_SIMILARITY = "r.cosine_similarity"
"""A correlation too, or no number where outputs are none."""
_ZERO_IF_UNKNOWN = (
    *("iterations", "first_latency_s", "steady_time_s", "latency_mean_s", "latency_median_s"),
    *(f"latency_{name}_s" for name in (*_PERCENTILES, "min", "max")),
    *(f"{time}_mean_s" for time in _TOKENS),
    *("throughput", "token_throughput", "decode_throughput", "memory_peak_bytes"),
    *("memory_average_bytes", "energy_joules", "energy_per_sample_joules"),
)
"""Columns that an import fills and that nothing measured leaves at zero."""


def _check(faults: Iterable[str], conditions: Iterable[str]) -> str:
    return (
        f"SELECT concat_ws(', ', {', '.join(faults)}) AS fault\nFROM records r\n"
        f"WHERE {' OR '.join(conditions)}"
    )


def _ranges() -> str:
    similarity = CORRELATION.fault.format(_SIMILARITY)
    return _check(
        [
            *(range_.fault.format(f"r.{name}") for name, range_ in RANGES.items()),
            f"CASE WHEN NOT isnan({_SIMILARITY}) THEN {similarity} END",
        ],
        [
            *(range_.is_broken(names) for range_, names in _ROWS.items()),
            f"NOT (isnan({_SIMILARITY}) OR {_SIMILARITY} BETWEEN -1.000001 AND 1.000001)",
        ],
    )


def _order(pairs: Iterable[tuple[str, str]]) -> str:
    """The check that of each pair the first is not above the second."""
    pairs = [(f"r.{one}", f"r.{other}") for one, other in pairs]
    compared = ", ".join(f"pair({one}, {other})" for one, other in pairs)
    return (
        f"SELECT disorder([{compared}], r.source) AS fault\nFROM records r\n"
        f"WHERE {' OR '.join(f'{one} > {other}' for one, other in pairs)}"
    )


def _of_time(time: str) -> tuple[str, ...]:
    percentiles = tuple(f"{time}_{name}_s" for name in _PERCENTILES)
    return ("latency_min_s", *percentiles, "latency_max_s") if time == "latency" else percentiles


def _words() -> str:
    """The check of words; others may have words of their own where a column may be null."""
    faults = ", ".join(
        f"CASE WHEN r.{column.name} NOT IN ({', '.join(map(text, column.allowed))})"
        f"{'' if column.name in REQUIRED else ' AND is_ours(r.source)'}"
        f" THEN {text(f'{column.name} is ')} || r.{column.name} END"
        for column in RESULTS.columns
        if column.allowed
    )
    return (
        "SELECT * FROM (SELECT r.rowid AS row_id, r.result_id AS subject, r.source,"
        f" concat_ws(', ', {faults}) AS fault FROM {RESULTS.name} r) WHERE fault <> ''"
    )


IMPOSSIBLE_VALUE = _ranges()
ZERO_OF_OTHERS = _check(
    [
        *(f"zero(r.{name})" for name in _ZERO_IF_UNKNOWN),
        "CASE WHEN list_min(r.durations_ns) = 0 THEN 'a raw duration is 0' END",
    ],
    [
        "NOT is_ours(r.source) AND ("
        f"least({', '.join(f'r.{name}' for name in _ZERO_IF_UNKNOWN)}) = 0"
        " OR list_min(r.durations_ns) = 0)"
    ],
)
PERCENTILES_OUT_OF_ORDER = _order(
    pair for time in _TIMES for pair in combinations(_of_time(time), 2)
)
"""Every pair, since those between may be null."""
INTERVAL_OUT_OF_ORDER = _order(
    pair
    for name, unit in (("peak_qps", ""), *_WITH_INTERVAL)
    for pair in combinations((f"{name}_low{unit}", f"{name}{unit}", f"{name}_high{unit}"), 2)
)
MIDDLE_OUTSIDE_ITS_RANGE = _order(
    (
        *combinations(("latency_min_s", "latency_median_s", "latency_max_s"), 2),
        *(("latency_min_s", "latency_mean_s"), ("latency_mean_s", "latency_max_s")),
    )
)
UNKNOWN_WORD = _words()
