"""The views: names and units that people expect.

Default views leave out what must not be quoted unless somebody asks: failures, cells that were
not timed, results of an unproven device, outputs that do not agree with the reference.
"""

from orchestrator.store.mode_views import MODE_VIEWS
from orchestrator.store.origin import OURS
from orchestrator.store.view import (
    JOINED,
    Shown,
    View,
    columns,
    megabytes,
    milliseconds,
    same,
    select,
)

_PERFORMANCE = [
    *same("result_id", "run_id", "cell_id", "model", "model_id", "family", "task"),
    Shown(
        "hardware",
        "coalesce(h.device_name, h.cpu_model)",
        "VARCHAR",
        "The physical device that did the work.",
    ),
    *same("hardware_id", "hostname", "backend", "runtime", "precision"),
    *same("batch_size", "sequence_length", "image_size", "audio_seconds", "new_tokens", "mode"),
    *same("scenario", "target_qps", "slo_ms", "profile", "purpose"),
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
        f"CASE WHEN r.source = '{OURS}' THEN r.recorded_at ELSE r.source_measured_at END",
        "TIMESTAMPTZ",
        "When the record was written, UTC; of imported ones when their file says, else null.",
    ),
    *same("status", "reason", "predicted", "phase", "proof"),
    *same("correct", "correct_reason", "verified_shape"),
    *same("grade", "grade_reasons", "noise_score"),
    *same("source", "source_format", "source_file", "simulated", "marks"),
]
_COLUMNS = columns(_PERFORMANCE)
_NEWEST = """
    QUALIFY row_number() OVER (
        PARTITION BY cell_id, hostname ORDER BY measured_at DESC, run_id DESC) = 1
"""

PERFORMANCE_ALL = View(
    "benchmark_performance_all",
    "Each verdict with its marks (status, proof, correct, grade), also what must not be quoted.",
    _COLUMNS,
    f"SELECT {select(_PERFORMANCE)} FROM {JOINED}",
)
PERFORMANCE = View(
    "benchmark_performance",
    "Timings of cells that ended well on a device proven to have done the work, wrong outputs"
    " left out; where they were not verified, `correct` is null.",
    _COLUMNS,
    f"SELECT * FROM benchmark_performance_all WHERE source = '{OURS}' AND status = 'ok'"
    " AND proof = 'proven' AND latency_median_ms IS NOT NULL AND correct IS DISTINCT FROM false",
)
LATEST = View(
    "latest_results",
    "The newest proven result of each cell on each host.",
    _COLUMNS,
    f"SELECT * FROM benchmark_performance {_NEWEST}",
)
LATEST_ALL = View(
    "latest_results_all",
    "The newest verdict on each cell on each host, whatever it was.",
    _COLUMNS,
    f"SELECT * FROM benchmark_performance_all {_NEWEST}",
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
_PREVIOUS = "lag(p.latency_median_ms) OVER earlier"
_HISTORY = [
    *(
        Shown(each.name, f"p.{each.name}", each.type, each.doc)
        for each in _PERFORMANCE
        if each.name in _HISTORIC
    ),
    Shown(
        "previous_median_ms",
        _PREVIOUS,
        "DOUBLE",
        "The median of the same cell on the same host before, milliseconds; null for the first.",
    ),
    Shown("ratio", f"p.latency_median_ms / {_PREVIOUS}", "DOUBLE", "The median by that one."),
]
HISTORY = View(
    "history",
    "How each cell's proven result changed from one measurement to the next on the same host.",
    columns(_HISTORY),
    f"SELECT {select(_HISTORY)} FROM benchmark_performance p"
    " WINDOW earlier AS (PARTITION BY cell_id, hostname ORDER BY measured_at, run_id)",
)

_FAILURE = same(
    *("result_id", "run_id", "cell_id", "model", "family", "backend", "runtime", "precision"),
    *("batch_size", "sequence_length", "image_size", "audio_seconds", "new_tokens"),
    *("mode", "scenario", "predicted"),
    *("status", "phase", "reason", "log"),
    *("hostname", "launcher", "image", "recorded_at", "source", "simulated"),
)
FAILURES_ALL = View(
    "failures_all",
    "Verdicts other than `ok`, also those that others' files tell.",
    columns(_FAILURE),
    f"SELECT {select(_FAILURE)} FROM {JOINED} WHERE status <> 'ok'",
)
FAILURES = View(
    "failures",
    "Verdicts other than `ok`: what could not be measured, and why.",
    columns(_FAILURE),
    f"SELECT * FROM failures_all WHERE source = '{OURS}'",
)

_KEY = same("model", "family", "backend", "runtime", "precision", "mode", "hostname")
_COMPATIBILITY = [
    *_KEY,
    Shown(
        "status",
        "arg_max(r.status, (r.measured_at, r.result_id))",
        "VARCHAR",
        "The newest verdict's status.",
    ),
    Shown(
        "proof",
        "arg_max(r.proof, (r.measured_at, r.result_id))",
        "VARCHAR",
        "The newest verdict's proof.",
    ),
    Shown(
        "reason",
        "arg_max_null(r.reason, (r.measured_at, r.result_id))",
        "VARCHAR",
        "The newest verdict's reason; null when it is `ok`.",
    ),
    Shown(
        "correct",
        "arg_max_null(r.correct, (r.measured_at, r.result_id))",
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
    f"SELECT {select(_COMPATIBILITY)} FROM latest_results_all r WHERE source = '{OURS}'"
    f" GROUP BY {_BY_KEY}",
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
