"""Values that nothing can have: negative times, no samples, numbers that are none."""

from collections.abc import Mapping

from orchestrator.store.health.checks.check import Check, of_results, own
from orchestrator.store.schema.columns import text
from orchestrator.store.schema.tables import QUARANTINE, RAW, REQUIRED, RESULTS, RUNS

_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_TIMES = ("latency", "time_to_first_token", "time_per_output_token")
_STAGES = ("interpreter", "import", "instantiate", "weights", "first_query")
_PARTS = ("forward", "loss", "backward", "optimizer")

POSITIVE = "{0} > 0 AND {0} < 'inf'::DOUBLE"
NOT_NEGATIVE = "{0} >= 0 AND {0} < 'inf'::DOUBLE"
UNSIGNED = "{0} >= 0"
"""Also infinite, as a difference from outputs that are zero or no numbers is."""
SHARE = "{0} BETWEEN 0 AND 1"
CORRELATION = "{0} BETWEEN -1.000001 AND 1.000001"
COSINE = "isnan({0}) OR {0} BETWEEN -1.000001 AND 1.000001"
FINITE = "isfinite({0})"


def _rules(rule: str, *columns: str) -> dict[str, str]:
    return {column: rule.format(f"r.{column}") for column in columns}


RULES: Mapping[str, str] = {
    **_rules(
        POSITIVE,
        *("batch_size", "sequence_length", "image_size", "audio_seconds", "new_tokens"),
        *("target_qps", "slo_ms", "iterations", "rounds", "schema_version"),
        *("first_latency_s", "steady_time_s", "service_median_s"),
        *(f"{time}_{name}_s" for time in _TIMES for name in ("mean", "median", *_PERCENTILES)),
        *("latency_median_low_s", "latency_median_high_s", "latency_min_s", "latency_max_s"),
        *("throughput", "token_throughput", "decode_throughput", "achieved_qps", "peak_qps"),
        *("concurrent_workers", "concurrent_time_s", "concurrent_models_per_second"),
        *("concurrent_speedup", "threads"),
        *("memory_peak_bytes", "memory_steady_peak_bytes", "memory_average_bytes"),
        *("memory_load_peak_bytes", "memory_baseline_bytes"),
        *("container_memory_limit_bytes", "container_cpu_limit"),
        *("energy_joules", "energy_per_sample_joules", "energy_per_token_joules"),
        "energy_window_s",
    ),
    **_rules(
        NOT_NEGATIVE,
        *("import_time_s", "load_time_s", "compile_time_s", "cached_compile_time_s"),
        *("warmup_iterations", "warmup_time_s", "outliers", "effective_iterations"),
        *(f"{time}_stddev_s" for time in _TIMES),
        *("latency_mad_s", "latency_cv", "latency_precision"),
        *(f"{part}_{name}_s" for part in _PARTS for name in ("mean", "median")),
        *(f"startup_{stage}_{name}_s" for stage in _STAGES for name in ("mean", "stddev")),
        *("memory_allocator_peak_bytes", "memory_device_peak_bytes"),
        *("noise_kernel_spread_before", "noise_kernel_spread_after", "load_average_1m"),
        *("clock_resolution_s", "harness_overhead_s", "device_clock_hz", "tolerance"),
        *("interop_threads", "parameters"),
    ),
    **_rules(UNSIGNED, "difference_max_abs", "difference_relative", "graph_difference_relative"),
    **_rules(SHARE, "drift_p_value", "token_agreement", "noise_steal"),
    **_rules(CORRELATION, "autocorrelation"),
    **_rules(COSINE, "cosine_similarity"),
    **_rules(
        FINITE,
        *("drift", "noise_score", "noise_other_load", "noise_kernel_shift"),
        *("training_loss_first", "training_loss_last", "device_temperature_c"),
    ),
}
"""What each number must fulfil where it is given; seeds may be any."""


def _told(conditions: Mapping[str, str]) -> str:
    """What is wrong: each column whose condition is not met, with its value."""
    parts = (
        f"CASE WHEN NOT ({condition}) THEN '{column} is ' || r.{column} END"
        for column, condition in conditions.items()
    )
    return f"concat_ws(', ', {', '.join(parts)})"


def _broken(conditions: Mapping[str, str]) -> str:
    unmet = " OR ".join(f"NOT ({condition})" for condition in conditions.values())
    return of_results(f"({unmet})", _told(conditions))


def _words() -> dict[str, str]:
    """Each column with a list of words: others may have words of their own in most of them."""
    conditions = {}
    for column in RESULTS.columns:
        if column.allowed:
            allowed = ", ".join(map(text, column.allowed))
            theirs = "" if column.name in REQUIRED else f" OR NOT {own('r.source')}"
            conditions[column.name] = f"r.{column.name} IN ({allowed}){theirs}"
    return conditions


_DURATIONS = {
    "durations_ns": "list_min(durations_ns) > 0",
    "warmup_durations_ns": "list_min(warmup_durations_ns) > 0",
    "part_durations_ns": "list_min(flatten(map_values(part_durations_ns))) >= 0",
}

VALUES = (
    Check(
        "impossible value",
        _broken(RULES),
        "`--fix` derives statistics from raw durations and takes out what it cannot derive",
        table=RESULTS,
    ),
    Check(
        "impossible raw duration",
        f"""
        SELECT r.rowid AS place, result_id AS subject, r.source, 'the shortest is '
            || least(list_min(durations_ns), list_min(warmup_durations_ns),
                list_min(flatten(map_values(part_durations_ns)))) || ' ns' AS told
        FROM {RAW.name} JOIN {RESULTS.name} r USING (result_id)
        WHERE {" OR ".join(f"NOT ({each})" for each in _DURATIONS.values())}
        """,
        "`--fix` takes such results out",
        table=RESULTS,
    ),
    Check(
        "unknown word",
        _broken(_words()),
        "`--fix` takes such results out; docs/schema.md lists the words",
        imported="error",
        table=RESULTS,
    ),
)


_UNEVEN = f"""
    SELECT u.rowid AS place, u.run_id AS subject, NULL AS source,
        coalesce(verdicts, 0) || ' verdicts, ' || u.planned || ' planned' AS told
    FROM {RUNS.name} u LEFT JOIN (
        SELECT run_id, count(*) AS verdicts FROM {RESULTS.name} GROUP BY run_id
    ) USING (run_id)
    WHERE u.planned <> coalesce(verdicts, 0)
"""
_KEPT = f"""
    SELECT rowid AS place, coalesce(result_id, table_name) AS subject, NULL AS source,
        table_name || ', ' || reason AS told
    FROM {QUARANTINE.name}
"""

COUNTS = (
    Check(
        "run with more or fewer verdicts than planned",
        _UNEVEN,
        "`orchestrator run --resume` ends a run that was interrupted",
        severity="note",
    ),
    Check(
        "in quarantine",
        _KEPT,
        "ask `SELECT * FROM quarantine`; docs/health.md says how to bring a row back",
        severity="note",
    ),
)
