"""The views: names and units that people expect.

Default views leave out what must not be quoted unless somebody asks: failures, cells that were
not timed, results of an unproven device, outputs that do not agree with the reference.
"""

from dataclasses import replace

from orchestrator.store.schema.mode_views import MODE_VIEWS
from orchestrator.store.schema.origin import OURS
from orchestrator.store.schema.tables import RESULTS
from orchestrator.store.schema.view import (
    DEVICE,
    MEASURED_AT,
    ORDER,
    QUOTABLE,
    SAME,
    SHOWN,
    Shown,
    View,
    columns,
    joined,
    megabytes,
    milliseconds,
    same,
    select,
)
from runner.contract.axes import ARRIVAL_AXES, SIZE_AXES

_PERFORMANCE = [
    *same("result_id", "run_id", "cell_id", "model", "model_id", "family", "task"),
    DEVICE,
    *same("hardware_id", "hostname", "backend", "runtime", "precision"),
    *same(*SIZE_AXES, "mode"),
    *same(*ARRIVAL_AXES, "profile", "purpose"),
    *same("throughput"),
    *milliseconds("latency_median", "latency_median_low", "latency_median_high"),
    *same("latency_precision"),
    *milliseconds("latency_mean", "latency_min", "latency_max", "latency_stddev"),
    *same("latency_cv"),
    *milliseconds(*(f"latency_{name}" for name in ("p50", "p90", "p95", "p99", "p999"))),
    *milliseconds("first_latency"),
    *same("iterations", "rounds", "drift", "drift_p_value", "load_time_s"),
    *milliseconds("time_to_first_token_median", "time_per_output_token_median"),
    *same("decode_throughput", "token_throughput", "achieved_qps", "peak_qps"),
    megabytes("memory_mb", "memory_peak_bytes"),
    megabytes("memory_average_mb", "memory_average_bytes"),
    *same("energy_per_sample_joules", "energy_per_token_joules"),
    *same("parameters", "weights", "weights_revision"),
    *same("launcher", "image", "image_digest", "git_commit", "runner_version"),
    Shown(
        "measured_at",
        MEASURED_AT,
        "TIMESTAMPTZ",
        "When the record was written, UTC; of imported ones when their file says, else null.",
    ),
    *same("status", "reason", "predicted", "phase", "proof"),
    *same("correct", "correct_reason", "verified_shape"),
    *same("grade", "grade_reasons", "noise_score"),
    *same("source", "source_format", "source_file", "simulated", "marks"),
]
_COLUMNS = columns(_PERFORMANCE)


def _newest(condition: str) -> str:
    """The newest row of each cell on each host; few columns choose it, the rest is read later."""
    chosen = f"""
        SELECT arg_max(r.rowid, {ORDER}) FROM {RESULTS.name} r WHERE {condition} GROUP BY {SAME}
    """
    rows = f"(SELECT * FROM {RESULTS.name} WHERE rowid IN ({chosen}))"
    return f"SELECT {select(_PERFORMANCE)} FROM {joined(rows)}"


PERFORMANCE_ALL = View(
    "benchmark_performance_all",
    "Each verdict with its marks (status, proof, correct, grade), also what must not be quoted.",
    _COLUMNS,
    f"SELECT {select(_PERFORMANCE)} FROM {joined()}",
)
PERFORMANCE = View(
    "benchmark_performance",
    "Timings of cells that ended well on a device proven to have done the work, wrong outputs"
    " left out; where they were not verified, `correct` is null.",
    _COLUMNS,
    f"SELECT {select(_PERFORMANCE)} FROM {joined()} WHERE {QUOTABLE}",
)
LATEST = View(
    "latest_results",
    "The newest proven result of each cell on each host.",
    _COLUMNS,
    _newest(QUOTABLE),
)
LATEST_ALL = View(
    "latest_results_all",
    "The newest verdict on each cell on each host, whatever it was.",
    _COLUMNS,
    _newest("true"),
)

IMPORTED = View(
    "imported_results",
    "Timings that others measured, as their files tell them: never proven by us, and without what"
    " their files mark as simulated.",
    _COLUMNS,
    f"SELECT * FROM benchmark_performance_all WHERE source <> '{OURS}' AND NOT simulated"
    " AND status = 'ok' AND coalesce(throughput, latency_median_ms, latency_mean_ms) IS NOT NULL",
)
_HISTORIC = (
    *("result_id", "run_id", "cell_id", "model", "hardware", "hostname", "backend", "runtime"),
    *("precision", "batch_size", "mode", "scenario", "latency_median_ms", "latency_median_low_ms"),
    *("latency_median_high_ms", "throughput", "memory_mb", "image_digest", "git_commit"),
    *("runner_version", "grade", "measured_at"),
)
_HISTORY = [
    *(
        replace(each, expression="b.cell_id") if each.name == "cell_id" else each
        for each in _PERFORMANCE
        if each.name in _HISTORIC
    ),
    Shown(
        "previous_median_ms",
        "b.previous_s * 1000",
        "DOUBLE",
        "The median of the same cell on the same host before, milliseconds; null for the first.",
    ),
    Shown("ratio", "r.latency_median_s / b.previous_s", "DOUBLE", "The median by that one."),
]
# The cell's id is shown from here, so that a question for one cell looks at no other. Hashes in
# front of the names make sorting a quarter cheaper: few names are compared then.
_BEFORE = f"""
    SELECT r.rowid AS place, r.cell_id, lag(r.latency_median_s) OVER (
        PARTITION BY hash({SAME}), {SAME} ORDER BY r.recorded_at, r.run_id) AS previous_s
    FROM {RESULTS.name} r WHERE {QUOTABLE}
"""
HISTORY = View(
    "history",
    "How each cell's proven result changed from one measurement to the next on the same host.",
    columns(_HISTORY),
    f"SELECT {select(_HISTORY)} FROM {joined()} JOIN ({_BEFORE}) b ON r.rowid = b.place",
)

_FAILURE = same(
    *("result_id", "run_id", "cell_id", "model", "family", "backend", "runtime", "precision"),
    *SIZE_AXES,
    *("mode", "scenario", "predicted"),
    *("status", "phase", "reason", "log"),
    *("hostname", "launcher", "image", "recorded_at", "source", "simulated"),
)
FAILURES_ALL = View(
    "failures_all",
    "Verdicts other than `ok`, also those that others' files tell.",
    columns(_FAILURE),
    f"SELECT {select(_FAILURE)} FROM {joined()} WHERE r.status <> 'ok'",
)
FAILURES = View(
    "failures",
    "Verdicts other than `ok`: what could not be measured, and why.",
    columns(_FAILURE),
    f"SELECT {select(_FAILURE)} FROM {joined()} WHERE {SHOWN} AND r.status <> 'ok'",
)

_KEY = same(
    *("model", "family", "backend", "runtime", "precision", "mode", "hostname", "source"),
)
_LAST = "(coalesce(r.measured_at, TIMESTAMPTZ '-infinity'), r.result_id)"
_COMPATIBILITY = [
    *_KEY,
    Shown(
        "status",
        f"arg_max(r.status, {_LAST})",
        "VARCHAR",
        "The newest verdict's status.",
    ),
    Shown(
        "proof",
        f"arg_max(r.proof, {_LAST})",
        "VARCHAR",
        "The newest verdict's proof.",
    ),
    Shown(
        "reason",
        f"arg_max_null(r.reason, {_LAST})",
        "VARCHAR",
        "The newest verdict's reason; null when it is `ok`.",
    ),
    Shown(
        "correct",
        f"arg_max_null(r.correct, {_LAST})",
        "BOOLEAN",
        "Whether the newest verdict's outputs agree with the reference; null: not verified.",
    ),
    Shown("cells", "count(*)", "BIGINT", "Cells with a verdict; they differ in shape."),
    Shown("cells_ok", "count(*) FILTER (r.status = 'ok')", "BIGINT", "Cells whose newest is `ok`."),
    Shown(
        "cells_proven",
        "count(*) FILTER (r.status = 'ok' AND r.proof = 'proven')",
        "BIGINT",
        "Cells whose newest verdict is `ok` and proven.",
    ),
    Shown("measured_at", "max(r.measured_at)", "TIMESTAMPTZ", "When the newest was written, UTC."),
]
_BY_KEY = ", ".join(shown.expression for shown in _KEY)
COMPATIBILITY = View(
    "compatibility",
    "Which model goes on which backend, runtime and precision: the newest verdicts on each host.",
    columns(_COMPATIBILITY),
    f"SELECT {select(_COMPATIBILITY)} FROM latest_results_all r WHERE {SHOWN} GROUP BY {_BY_KEY}",
)
COMPATIBILITY_ALL = View(
    "compatibility_all",
    "The same, with what others' files tell and no device of ours has shown.",
    columns(_COMPATIBILITY),
    f"SELECT {select(_COMPATIBILITY)} FROM latest_results_all r GROUP BY {_BY_KEY}",
)

VIEWS = (
    PERFORMANCE_ALL,
    PERFORMANCE,
    LATEST_ALL,
    LATEST,
    *MODE_VIEWS,
    HISTORY,
    IMPORTED,
    FAILURES_ALL,
    FAILURES,
    COMPATIBILITY,
    COMPATIBILITY_ALL,
)
