"""All views: names and units that people expect.

Default views leave out what must not be quoted unless somebody asks: failures, cells that were
not timed, results of an unproven device, outputs that do not agree with the reference.
"""

from dataclasses import replace

from analysis.results.row import item_seconds_sql
from orchestrator.store.schema.mode_views import EFFICIENCY, MODE_VIEWS
from orchestrator.store.schema.result_views import (
    CONTRADICTED,
    LATEST,
    LATEST_ALL,
    PERFORMANCE,
    PERFORMANCE_ALL,
    RESULT_COLUMNS,
    VERDICT_COLUMNS,
)
from orchestrator.store.schema.tables import OURS, RESULTS
from orchestrator.store.schema.view import (
    HOST_OF_VERDICT,
    OF_SERIES,
    OWN_ROWS,
    TRUSTED,
    View,
    ViewColumn,
    joined_results,
    joined_verdicts,
    result_columns,
    select_list,
    view_columns,
)
from runner.contract.axes import SIZE_AXES

_IMPORTED = View(
    "imported_results",
    "Timings that others measured, as their files tell them: never proven by us, and without what"
    " their files mark as simulated.",
    view_columns(VERDICT_COLUMNS),
    f"SELECT * FROM benchmark_performance_all WHERE source <> '{OURS}' AND NOT simulated"
    " AND status = 'ok' AND coalesce(throughput, latency_median_ms, latency_mean_ms) IS NOT NULL",
)
_TIME = item_seconds_sql()["time"]
_HISTORIC = (
    *("result_id", "run_id", "cell_id", "model", "hardware", "host", "hostname", "cores"),
    *("launcher", "backend", "runtime", "precision", "batch_size", "mode", "scenario", "profile"),
    *("latency_median_ms", "latency_median_low_ms", "latency_median_high_ms", "throughput"),
    *("memory_mb", "image_digest", "git_commit", "runner_version", "grade", "measured_at"),
)
_HISTORY_COLUMNS = [
    *(
        replace(column, expression="b.cell_id") if column.name == "cell_id" else column
        for column in RESULT_COLUMNS
        if column.name in _HISTORIC
    ),
    ViewColumn(
        "previous_median_ms",
        "b.previous.median_s * 1000",
        "DOUBLE",
        "The median before, milliseconds: the newest older one of the same series and profile whose"
        " grade is not D; null if there is none.",
    ),
    ViewColumn("previous_grade", "b.previous.grade", "VARCHAR", "The grade of that one."),
    ViewColumn(
        "ratio",
        f"CASE WHEN r.grade IS DISTINCT FROM 'D' THEN {_TIME} / b.previous.time END",
        "DOUBLE",
        "This time of an item by that one's, as in `contradictions`; null where this one's grade is"
        " D.",
    ),
]
# The cell's id is shown from here, so that a question for one cell looks at no other.
_BEFORE = f"""
    SELECT r.rowid AS place, r.cell_id, lag(
        CASE WHEN r.grade IS DISTINCT FROM 'D'
        THEN {{'median_s': r.latency_median_s, 'time': {_TIME}, 'grade': r.grade}} END IGNORE NULLS
    ) OVER (
        PARTITION BY hash({OF_SERIES}, r.profile), r.cell_id ORDER BY r.recorded_at, r.run_id
    ) AS previous
    FROM {RESULTS.name} r WHERE {TRUSTED}
"""
_HISTORY = View(
    "history",
    "How each series' proven result changed from one measurement to the next of the same profile.",
    view_columns(_HISTORY_COLUMNS),
    f"SELECT {select_list(_HISTORY_COLUMNS)} FROM {joined_results()}"
    f" JOIN ({_BEFORE}) b ON r.rowid = b.place",
)

_FAILURE = [
    *result_columns("result_id", "run_id", "cell_id", "model", "family"),
    *result_columns("backend", "runtime", "precision"),
    *result_columns(*SIZE_AXES, "mode", "scenario", "predicted"),
    *result_columns("status", "phase", "reason", "reason_code", "remedy", "log"),
    HOST_OF_VERDICT,
    *result_columns("hostname", "launcher", "image", "recorded_at", "source", "simulated"),
]
_FAILURES_ALL = View(
    "failures_all",
    "Verdicts other than `ok`, also those that others' files tell.",
    view_columns(_FAILURE),
    f"SELECT {select_list(_FAILURE)} FROM {joined_verdicts()} WHERE r.status <> 'ok'",
)
_FAILURES = View(
    "failures",
    "Verdicts other than `ok`: what could not be measured, and why.",
    view_columns(_FAILURE),
    f"SELECT {select_list(_FAILURE)} FROM {joined_verdicts()}"
    f" WHERE {OWN_ROWS} AND r.status <> 'ok'",
)

_KEY = [
    *result_columns("model", "family", "backend", "runtime", "precision", "mode", "source"),
    replace(HOST_OF_VERDICT, expression="r.host"),
]
_LAST = "(coalesce(r.measured_at, TIMESTAMPTZ '-infinity'), r.result_id)"
_COMPATIBILITY_COLUMNS = [
    *_KEY,
    ViewColumn(
        "hostname",
        f"arg_max(r.hostname, {_LAST})",
        "VARCHAR",
        "The host's name in the newest verdict.",
    ),
    ViewColumn("status", f"arg_max(r.status, {_LAST})", "VARCHAR", "The newest verdict's status."),
    ViewColumn("proof", f"arg_max(r.proof, {_LAST})", "VARCHAR", "The newest verdict's proof."),
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
_BY_KEY = ", ".join(
    [*(shown.expression for shown in _KEY), "CASE WHEN r.host IS NULL THEN r.hostname END"]
)
_COMPATIBILITY = View(
    "compatibility",
    "Which model goes on which backend, runtime and precision: the newest verdicts on each"
    " machine.",
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
    LATEST_ALL,
    LATEST,
    *MODE_VIEWS,
    EFFICIENCY,
    _HISTORY,
    CONTRADICTED,
    _IMPORTED,
    _FAILURES_ALL,
    _FAILURES,
    _COMPATIBILITY,
    _COMPATIBILITY_ALL,
)
