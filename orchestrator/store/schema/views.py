"""The views: names and units that people expect.

Default views leave out what must not be quoted unless somebody asks: failures, cells that were
not timed, results of an unproven device, outputs that do not agree with the reference.
"""

from dataclasses import replace

from orchestrator.store.schema.mode_views import MODE_VIEWS
from orchestrator.store.schema.tables import OURS, RESULTS
from orchestrator.store.schema.view import (
    DEVICE,
    MEASURED_AT,
    OWN_ROWS,
    RESULT_KEY,
    RESULT_ORDER,
    TRUSTED,
    View,
    ViewColumn,
    joined_results,
    megabytes,
    milliseconds,
    result_columns,
    select_list,
    view_columns,
)
from runner.contract.axes import ARRIVAL_AXES, SIZE_AXES

_PERFORMANCE = [
    *result_columns("result_id", "run_id", "cell_id", "model", "model_id", "family", "task"),
    DEVICE,
    *result_columns("hardware_id", "hostname", "backend", "runtime", "precision"),
    *result_columns(*SIZE_AXES, "mode"),
    *result_columns(*ARRIVAL_AXES, "profile", "purpose"),
    *result_columns("throughput"),
    *milliseconds("latency_median", "latency_median_low", "latency_median_high"),
    *result_columns("latency_precision"),
    *milliseconds("latency_mean", "latency_min", "latency_max", "latency_stddev"),
    *result_columns("latency_cv"),
    *milliseconds(*(f"latency_{name}" for name in ("p50", "p90", "p95", "p99", "p999"))),
    *milliseconds("first_latency"),
    *result_columns("iterations", "rounds", "drift", "drift_p_value", "load_time_s"),
    *milliseconds("time_to_first_token_median", "time_per_output_token_median"),
    *result_columns("decode_throughput", "token_throughput", "achieved_qps", "peak_qps"),
    megabytes("memory_mb", "memory_peak_bytes"),
    megabytes("memory_average_mb", "memory_average_bytes"),
    *result_columns("energy_per_sample_joules", "energy_per_token_joules"),
    *result_columns("parameters", "weights", "weights_revision"),
    *result_columns("launcher", "image", "image_digest", "git_commit", "runner_version"),
    ViewColumn(
        "measured_at",
        MEASURED_AT,
        "TIMESTAMPTZ",
        "When the record was written, UTC; of imported ones when their file says, else null.",
    ),
    *result_columns("status", "reason", "predicted", "phase", "proof"),
    *result_columns("correct", "correct_reason", "verified_shape"),
    *result_columns("grade", "grade_reasons", "noise_score"),
    *result_columns("source", "source_format", "source_file", "simulated", "marks"),
]
_COLUMNS = view_columns(_PERFORMANCE)


def _newest(condition: str) -> str:
    """The newest row of each cell on each host; few columns choose it, the rest is read later."""
    chosen = f"""
        SELECT arg_max(r.rowid, {RESULT_ORDER}) FROM {RESULTS.name} r WHERE {condition}
        GROUP BY {RESULT_KEY}
    """
    rows = f"(SELECT * FROM {RESULTS.name} WHERE rowid IN ({chosen}))"
    return f"SELECT {select_list(_PERFORMANCE)} FROM {joined_results(rows)}"


PERFORMANCE_ALL = View(
    "benchmark_performance_all",
    "Each verdict with its marks (status, proof, correct, grade), also what must not be quoted.",
    _COLUMNS,
    f"SELECT {select_list(_PERFORMANCE)} FROM {joined_results()}",
)
PERFORMANCE = View(
    "benchmark_performance",
    "Timings of cells that ended well on a device proven to have done the work, wrong outputs"
    " left out; where they were not verified, `correct` is null.",
    _COLUMNS,
    f"SELECT {select_list(_PERFORMANCE)} FROM {joined_results()} WHERE {TRUSTED}",
)
_LATEST = View(
    "latest_results",
    "The newest proven result of each cell on each host.",
    _COLUMNS,
    _newest(TRUSTED),
)
_LATEST_ALL = View(
    "latest_results_all",
    "The newest verdict on each cell on each host, whatever it was.",
    _COLUMNS,
    _newest("true"),
)

_IMPORTED = View(
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
_HISTORY_COLUMNS = [
    *(
        replace(column, expression="b.cell_id") if column.name == "cell_id" else column
        for column in _PERFORMANCE
        if column.name in _HISTORIC
    ),
    ViewColumn(
        "previous_median_ms",
        "b.previous_s * 1000",
        "DOUBLE",
        "The median of the same cell on the same host before, milliseconds; null for the first.",
    ),
    ViewColumn("ratio", "r.latency_median_s / b.previous_s", "DOUBLE", "The median by that one."),
]
# The cell's id is shown from here, so that a question for one cell looks at no other. Hashes in
# front of the names make sorting a quarter cheaper: few names are compared then.
_BEFORE = f"""
    SELECT r.rowid AS place, r.cell_id, lag(r.latency_median_s) OVER (
        PARTITION BY hash({RESULT_KEY}), {RESULT_KEY} ORDER BY r.recorded_at, r.run_id
    ) AS previous_s
    FROM {RESULTS.name} r WHERE {TRUSTED}
"""
_HISTORY = View(
    "history",
    "How each cell's proven result changed from one measurement to the next on the same host.",
    view_columns(_HISTORY_COLUMNS),
    f"SELECT {select_list(_HISTORY_COLUMNS)} FROM {joined_results()}"
    f" JOIN ({_BEFORE}) b ON r.rowid = b.place",
)

_FAILURE = result_columns(
    *("result_id", "run_id", "cell_id", "model", "family", "backend", "runtime", "precision"),
    *SIZE_AXES,
    *("mode", "scenario", "predicted"),
    *("status", "phase", "reason", "log"),
    *("hostname", "launcher", "image", "recorded_at", "source", "simulated"),
)
_FAILURES_ALL = View(
    "failures_all",
    "Verdicts other than `ok`, also those that others' files tell.",
    view_columns(_FAILURE),
    f"SELECT {select_list(_FAILURE)} FROM {joined_results()} WHERE r.status <> 'ok'",
)
_FAILURES = View(
    "failures",
    "Verdicts other than `ok`: what could not be measured, and why.",
    view_columns(_FAILURE),
    f"SELECT {select_list(_FAILURE)} FROM {joined_results()} WHERE {OWN_ROWS} AND r.status <> 'ok'",
)

_KEY = result_columns(
    *("model", "family", "backend", "runtime", "precision", "mode", "hostname", "source"),
)
_LAST = "(coalesce(r.measured_at, TIMESTAMPTZ '-infinity'), r.result_id)"
_COMPATIBILITY_COLUMNS = [
    *_KEY,
    ViewColumn(
        "status",
        f"arg_max(r.status, {_LAST})",
        "VARCHAR",
        "The newest verdict's status.",
    ),
    ViewColumn(
        "proof",
        f"arg_max(r.proof, {_LAST})",
        "VARCHAR",
        "The newest verdict's proof.",
    ),
    ViewColumn(
        "reason",
        f"arg_max_null(r.reason, {_LAST})",
        "VARCHAR",
        "The newest verdict's reason; null when it is `ok`.",
    ),
    ViewColumn(
        "correct",
        f"arg_max_null(r.correct, {_LAST})",
        "BOOLEAN",
        "Whether the newest verdict's outputs agree with the reference; null: not verified.",
    ),
    ViewColumn("cells", "count(*)", "BIGINT", "Cells with a verdict; they differ in shape."),
    ViewColumn(
        "cells_ok", "count(*) FILTER (r.status = 'ok')", "BIGINT", "Cells whose newest is `ok`."
    ),
    ViewColumn(
        "cells_proven",
        "count(*) FILTER (r.status = 'ok' AND r.proof = 'proven')",
        "BIGINT",
        "Cells whose newest verdict is `ok` and proven.",
    ),
    ViewColumn(
        "measured_at", "max(r.measured_at)", "TIMESTAMPTZ", "When the newest was written, UTC."
    ),
]
_BY_KEY = ", ".join(shown.expression for shown in _KEY)
_COMPATIBILITY = View(
    "compatibility",
    "Which model goes on which backend, runtime and precision: the newest verdicts on each host.",
    view_columns(_COMPATIBILITY_COLUMNS),
    f"SELECT {select_list(_COMPATIBILITY_COLUMNS)} FROM latest_results_all r WHERE {OWN_ROWS}"
    f" GROUP BY {_BY_KEY}",
)
_COMPATIBILITY_ALL = View(
    "compatibility_all",
    "The same, with what others' files tell and no device of ours has shown.",
    view_columns(_COMPATIBILITY_COLUMNS),
    f"SELECT {select_list(_COMPATIBILITY_COLUMNS)} FROM latest_results_all r GROUP BY {_BY_KEY}",
)

VIEWS = (
    PERFORMANCE_ALL,
    PERFORMANCE,
    _LATEST_ALL,
    _LATEST,
    *MODE_VIEWS,
    _HISTORY,
    _IMPORTED,
    _FAILURES_ALL,
    _FAILURES,
    _COMPATIBILITY,
    _COMPATIBILITY_ALL,
)
