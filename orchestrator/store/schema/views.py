"""All views: names and units that people expect.

Default views leave out what must not be quoted unless somebody asks: failures, cells that were
not timed, results of an unproven device, outputs that do not agree with the reference.
"""

from dataclasses import replace

from analysis.results.row import item_seconds_sql
from orchestrator.store.schema.mode_views import EFFICIENCY, MODE_VIEWS
from orchestrator.store.schema.paired_view import PAIRED
from orchestrator.store.schema.result_views import (
    CONTRADICTED,
    LATEST,
    LATEST_ALL,
    PERFORMANCE,
    PERFORMANCE_ALL,
    RESULT_COLUMNS,
)
from orchestrator.store.schema.tables import OURS
from orchestrator.store.schema.view import (
    HOST_OF_VERDICT,
    OF_SERIES,
    OWN_ROWS,
    TRUSTED,
    ViewColumn,
    columns,
    joined_results,
    joined_verdicts,
    view,
)
from runner.contract.axes import SIZE_AXES

_TIME = item_seconds_sql()["time"]
_HISTORIC = (
    *("result_id", "run_id", "cell_id", "model", "hardware", "host", "hostname", "cores"),
    *("launcher", "backend", "runtime", "precision", "batch_size", "mode", "scenario", "profile"),
    *("latency_median_ms", "latency_median_low_ms", "latency_median_high_ms", "throughput"),
    *("memory_mb", "image_digest", "git_commit", "runner_version", "grade", "measured_at"),
)
# The cell's id is shown from here, so that a question for one cell looks at no other.
_BEFORE = f"""
    SELECT r.rowid AS place, r.cell_id, lag(
        CASE WHEN r.grade IS DISTINCT FROM 'D'
        THEN {{'median_s': r.latency_median_s, 'time': {_TIME}, 'grade': r.grade}} END IGNORE NULLS
    ) OVER (
        PARTITION BY hash({OF_SERIES}, r.profile), r.cell_id ORDER BY r.recorded_at, r.run_id
    ) AS previous
    FROM benchmark_results r WHERE {TRUSTED}
"""
_HISTORY = view(
    "history",
    "How each series' proven result changed from one measurement to the next of the same profile.",
    [
        *(
            replace(column, expression="b.cell_id") if column.name == "cell_id" else column
            for column in RESULT_COLUMNS
            if column.name in _HISTORIC
        ),
        ViewColumn(
            *("previous_median_ms", "b.previous.median_s * 1000"),
            "The median before, milliseconds: the newest older one of the same series and profile"
            " whose grade is not D; null if there is none.",
        ),
        ViewColumn("previous_grade", "b.previous.grade", "The grade of that one.", "VARCHAR"),
        ViewColumn(
            "ratio",
            f"CASE WHEN r.grade IS DISTINCT FROM 'D' THEN {_TIME} / b.previous.time END",
            "This time of an item by that one's, as in `contradictions`; null where this one's"
            " grade is D.",
        ),
    ],
    f"{joined_results()} JOIN ({_BEFORE}) b ON r.rowid = b.place",
)
_IMPORTED = replace(
    PERFORMANCE_ALL,
    name="imported_results",
    doc="Timings that others measured, as their files tell them: never proven by us, and without"
    " what their files mark as simulated.",
    query=f"SELECT * FROM benchmark_performance_all WHERE source <> '{OURS}' AND NOT simulated"
    " AND status = 'ok' AND coalesce(throughput, latency_median_ms, latency_mean_ms) IS NOT NULL",
)

_FAILURE = [
    *columns("result_id run_id cell_id model family backend runtime precision"),
    *columns(" ".join([*SIZE_AXES, "mode scenario predicted"])),
    *columns("status phase reason reason_code remedy log"),
    HOST_OF_VERDICT,
    *columns("hostname launcher image recorded_at source simulated"),
]
_FAILURES_ALL = view(
    "failures_all",
    "Verdicts other than `ok`, also those that others' files tell.",
    _FAILURE,
    f"{joined_verdicts()} WHERE r.status <> 'ok'",
)
_FAILURES = view(
    "failures",
    "Verdicts other than `ok`: what could not be measured, and why.",
    _FAILURE,
    f"{joined_verdicts()} WHERE {OWN_ROWS} AND r.status <> 'ok'",
)

_KEY = [
    *columns("model family backend runtime precision mode source"),
    replace(HOST_OF_VERDICT, expression="r.host"),
]
_LAST = "(coalesce(r.measured_at, TIMESTAMPTZ '-infinity'), r.result_id)"


def _newest(name: str, doc: str, type_: str = "VARCHAR", function: str = "arg_max") -> ViewColumn:
    return ViewColumn(name, f"{function}(r.{name}, {_LAST})", doc, type_)


_COMPATIBILITY_COLUMNS = [
    *_KEY,
    _newest("hostname", "The host's name in the newest verdict."),
    _newest("status", "The newest verdict's status."),
    _newest("proof", "The newest verdict's proof."),
    _newest(
        "reason", "The newest verdict's reason; null when it is `ok`.", function="arg_max_null"
    ),
    _newest(
        "correct",
        "Whether the newest verdict's outputs agree with the reference; null: not verified.",
        *("BOOLEAN", "arg_max_null"),
    ),
    ViewColumn("cells", "count(*)", "Cells with a verdict; they differ in shape.", "BIGINT"),
    ViewColumn(
        *("cells_ok", "count(*) FILTER (r.status = 'ok')"),
        *("Cells whose newest is `ok`.", "BIGINT"),
    ),
    ViewColumn(
        *("cells_proven", "count(*) FILTER (r.status = 'ok' AND r.proof = 'proven')"),
        *("Cells whose newest verdict is `ok` and proven.", "BIGINT"),
    ),
    ViewColumn(
        *("measured_at", "max(r.measured_at)"),
        *("When the newest was written, UTC.", "TIMESTAMPTZ"),
    ),
]
_BY_KEY = ", ".join(
    [*(shown.expression for shown in _KEY), "CASE WHEN r.host IS NULL THEN r.hostname END"]
)
_COMPATIBILITY = view(
    "compatibility",
    "Which model goes on which backend, runtime and precision: the newest verdicts on each"
    " machine.",
    _COMPATIBILITY_COLUMNS,
    f"latest_results_all r WHERE {OWN_ROWS} GROUP BY {_BY_KEY}",
)
_COMPATIBILITY_ALL = view(
    "compatibility_all",
    "The same, with what others' files tell and no device of ours has shown.",
    _COMPATIBILITY_COLUMNS,
    f"latest_results_all r GROUP BY {_BY_KEY}",
)

VIEWS = (
    *(PERFORMANCE_ALL, PERFORMANCE, LATEST_ALL, LATEST, *MODE_VIEWS, EFFICIENCY, PAIRED, _HISTORY),
    *(CONTRADICTED, _IMPORTED, _FAILURES_ALL, _FAILURES, _COMPATIBILITY, _COMPATIBILITY_ALL),
)
