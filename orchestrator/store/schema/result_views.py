"""The views of whole results: every verdict, what may be quoted of them, and the newest."""

from analysis.compare.circumstances import CONDITIONS
from analysis.results.metrics import PERFORMANCE_VIEW
from analysis.results.row import item_seconds_sql
from analysis.results.source import text
from analysis.statistics.ratios import DIFFERENCE_FACTOR, PROMISES
from orchestrator.store.schema.view import (
    HOST_OF_VERDICT,
    MEASURED_AT,
    RESULT_ORDER,
    SERIES_KEY,
    TRUSTED,
    ViewColumn,
    columns,
    columns_of_metrics,
    joined_results,
    joined_verdicts,
    view,
)
from runner.contract.axes import ARRIVAL_AXES, SIZE_AXES

_SETTINGS = ", ".join(f"r.{name}" for name in CONDITIONS)
GRADED = f"r.grade IN ({', '.join(map(text, PROMISES))})"
_FACT = {
    "place": "r.rowid",
    "grade": "r.grade",
    **item_seconds_sql(),
    "software": "CASE WHEN r.environment_id IS NOT NULL"
    f" THEN hash(r.environment_id, {_SETTINGS}) END",
}
"""The facts of a result that are compared, and its row. Texts would take twice as long. A setting
that only one of two results tells counts as another one."""
_WORST_PROMISE = " ".join(f"WHEN '{grade}' THEN {promise}" for grade, promise in PROMISES.items())


def promise(one: str, other: str) -> str:
    """The least difference that results of these grades can show."""
    return f"(CASE greatest({one}.grade, {other}.grade) {_WORST_PROMISE} END)::DOUBLE"


def ratio_end(one: str, other: str, end: str, factor: float = 1.0) -> str:
    """An end of the interval of a ratio of times, so many times as wide on a logarithmic scale."""
    ends = {"low": ("low", "high", "-"), "high": ("high", "low", "+")}
    own, others, sign = ends[end]
    squares = " + ".join(
        f"ln({name}.{bound} / {name}.time) ** 2" for name, bound in ((one, own), (other, others))
    )
    return f"({one}.time / {other}.time * exp({sign}{factor} * sqrt({squares})))"


def contradict(one: str, other: str) -> str:
    """The condition under which two graded results contradict each other."""
    sound = " AND ".join(
        f"{name}.low > 0 AND {name}.low <= {name}.time AND {name}.time <= {name}.high"
        for name in (one, other)
    )
    low, high = (ratio_end(one, other, end, DIFFERENCE_FACTOR) for end in ("low", "high"))
    size = f"greatest({one}.time / {other}.time, {other}.time / {one}.time)"
    return f"""(
        CASE WHEN {one}.software = {other}.software AND {sound} THEN
            ({low} > 1 OR {high} < 1)
            AND {size} > 1 + {promise(one, other)}
        ELSE false END)"""


def _packed(prefix: str = "") -> str:
    return f"struct_pack({', '.join(f'{name} := {prefix}{name}' for name in _FACT)})"


# A window over single columns takes a quarter of the time of one over a structure of them.
_NEIGHBOURS = f"""
    SELECT *, {", ".join(f"lag({name}) OVER earlier AS earlier_{name}" for name in _FACT)} FROM (
        SELECT {", ".join(f"{value} AS {name}" for name, value in _FACT.items())},
            hash({SERIES_KEY}) AS series, {RESULT_ORDER} AS moment
        FROM benchmark_results r WHERE {TRUSTED} AND {GRADED}
    ) WINDOW earlier AS (PARTITION BY series ORDER BY moment)
"""
_PAIRS = f"""
    SELECT {_packed()} AS later, {_packed("earlier_")} AS earlier
    FROM ({_NEIGHBOURS}) WHERE earlier_place IS NOT NULL
"""
_SIDES = f"""
    SELECT p.one, p.other FROM (
        SELECT unnest([
            {{'one': later, 'other': earlier}}, {{'one': earlier, 'other': later}}
        ]) AS p
        FROM ({_PAIRS}) WHERE {contradict("later", "earlier")}
    ) WHERE p.one.grade >= p.other.grade
"""
LOST_PLACES = f"SELECT DISTINCT one.place FROM ({_SIDES})"
"""The rows of results whose grade does not hold, each once."""
CONTRADICTED = view(
    "contradictions",
    "Results whose grade does not hold: the next or the last one of their series, with the same"
    " software and settings, differs by more than both grades promise. `latest_results` shows them"
    " with D.",
    [
        *columns("result_id run_id cell_id model hardware"),
        *columns("launcher backend runtime precision batch_size mode"),
        ViewColumn("measured_at", MEASURED_AT, "When the result was measured, UTC.", "TIMESTAMPTZ"),
        ViewColumn(
            "latency_median_ms", "r.latency_median_s * 1000", "Its median time, milliseconds."
        ),
        ViewColumn("grade", "s.one.grade", "The grade that it was recorded with.", "VARCHAR"),
        ViewColumn(
            *("contradicted_by", "o.result_id"),
            "The result before or after it in its series, with the same software and settings, and"
            " no worse a grade.",
            "VARCHAR",
        ),
        ViewColumn(
            "other_median_ms", "o.latency_median_s * 1000", "That one's median, milliseconds."
        ),
        ViewColumn("other_grade", "s.other.grade", "That one's grade.", "VARCHAR"),
        ViewColumn(
            *("ratio", "s.one.time / s.other.time"),
            "This one's time of an item by that one's: of a sample, a start, or at a set rate a"
            " query; of a peak, by its rate.",
        ),
        ViewColumn(
            "ratio_low", ratio_end("s.one", "s.other", "low"), "Its 95 % interval's low end."
        ),
        ViewColumn("ratio_high", ratio_end("s.one", "s.other", "high"), "Its high end."),
        ViewColumn(
            *("promise", promise("s.one", "s.other")),
            "The least difference that their grades let them show, 0.05 for 5 %.",
        ),
    ],
    f"{joined_results()} JOIN ({_SIDES}) s ON r.rowid = s.one.place"
    f" JOIN benchmark_results o ON o.rowid = s.other.place",
)


PERCENTILES_WITH_BOUNDS = tuple(
    f"{name}{end}" for name in ("p90", "p95", "p99", "p999") for end in ("", "_low", "_high")
)
_MEASURED = [
    *columns("result_id run_id cell_id model model_id family task hardware hardware_id host"),
    *columns("hostname cores launcher backend runtime precision"),
    *columns(" ".join([*SIZE_AXES, "mode", *ARRIVAL_AXES])),
    *columns("workers training_precision profile purpose interleaved_with throughput"),
    *columns("latency_median_ms latency_median_low_ms latency_median_high_ms latency_precision"),
    *columns("latency_mean_ms latency_min_ms latency_max_ms latency_stddev_ms latency_cv"),
    *columns("latency_p50_ms"),
    *columns(" ".join(f"latency_{name}_ms" for name in PERCENTILES_WITH_BOUNDS)),
    *columns("first_latency_ms iterations rounds latency_between_process_cv process_spread"),
    *columns("drift drift_p_value steady_change load_time_s time_to_first_token_median_ms"),
    *columns("time_per_output_token_median_ms decode_throughput token_throughput achieved_qps"),
    *columns("peak_qps peak_qps_low peak_qps_high memory_mb memory_average_mb"),
]
RESULT_COLUMNS = [
    *_MEASURED,
    *columns_of_metrics(PERFORMANCE_VIEW, _MEASURED),
    *columns("energy_scope parameters weights weights_revision weights_seed seed timed_region"),
    *columns("threads container_cpu_limit image image_digest git_commit runner_version"),
    ViewColumn(
        *("measured_at", MEASURED_AT),
        "When the record was written, UTC; of imported ones when their file says, else null.",
        "TIMESTAMPTZ",
    ),
    *columns("status reason reason_code remedy predicted phase proof software_device correct"),
    *columns("correct_reason verified_shape off grade grade_reasons noise_score source"),
    *columns("source_format source_file settings simulated marks"),
]
_OF_A_PART = (
    *("result_id", "run_id", "cell_id", "model", "family", "task", "hardware", "hardware_id"),
    *("host", "hostname", "cores", "launcher", "backend", "runtime", "precision", *SIZE_AXES),
    *("mode", "scenario", "profile", "threads", "container_cpu_limit", "measured_at", "grade"),
)
COLUMNS_OF_PARTS = [column for column in RESULT_COLUMNS if column.name in _OF_A_PART]
"""Columns of a result that each row has where a view shows several rows of one result."""
VERDICT_COLUMNS = [
    HOST_OF_VERDICT if column.name == "host" else column for column in RESULT_COLUMNS
]

PERFORMANCE_ALL = view(
    "benchmark_performance_all",
    "Each verdict with its marks (status, proof, correct, grade), also what must not be quoted.",
    VERDICT_COLUMNS,
    joined_verdicts(),
)
PERFORMANCE = view(
    PERFORMANCE_VIEW,
    "Timings of cells that ended well on a device proven to have done the work, wrong outputs"
    " left out, as are those of software in a device's place; where they were not verified,"
    " `correct` is null.",
    RESULT_COLUMNS,
    f"{joined_results()} WHERE {TRUSTED}",
)

NEWEST_OF_SERIES = f"""
    SELECT arg_max(r.rowid, {RESULT_ORDER}) AS place,
        min(r.grade) FILTER (lost.place IS NULL) AS best,
        arg_max(lost.place IS NOT NULL, {RESULT_ORDER}) AS contradicts,
        arg_max(r.rowid, {RESULT_ORDER}, 2) FILTER ({GRADED}) AS graded
    FROM benchmark_results r LEFT JOIN ({LOST_PLACES}) lost ON lost.place = r.rowid
    WHERE {TRUSTED} GROUP BY {SERIES_KEY}
"""
"""The rows of `latest_results`; few columns choose them, the rest is read later."""
_SHOWN_GRADE = "CASE WHEN r.contradicts THEN 'D' ELSE r.grade END"
_SHOWN_GRADES = [
    ViewColumn(
        *("grade", _SHOWN_GRADE),
        "What the numbers are good for, A to D; D where the result before it in its series"
        " contradicts it, which `contradictions` shows.",
        "VARCHAR",
    ),
    ViewColumn(
        *("better_grade", f"CASE WHEN r.best < {_SHOWN_GRADE} THEN r.best END"),
        "The best grade of an older result of the same series that no neighbour contradicts, where"
        " this one's is worse: `benchmark_performance` has it; else null.",
        "VARCHAR",
    ),
    ViewColumn(
        *("contradicted_by", "CASE WHEN r.contradicts THEN r.previous_result END"),
        "The result before it that contradicts it; else null.",
        "VARCHAR",
    ),
    ViewColumn(
        "contradicted_factor",
        f"CASE WHEN r.contradicts THEN r.previous_time / {item_seconds_sql()['time']} END",
        "That one's time of an item by this one's; else null.",
    ),
]
_LATEST_ROWS = f"""(
    SELECT r.*, newest.best, newest.contradicts, before.result_id AS previous_result,
        {item_seconds_sql("before")["time"]} AS previous_time
    FROM benchmark_results r
    JOIN ({NEWEST_OF_SERIES}) newest ON r.rowid = newest.place
    LEFT JOIN benchmark_results before ON before.rowid = newest.graded[2]
)"""
LATEST = view(
    "latest_results",
    "The newest proven result of each series: the same cell, model, weights and their seed, machine"
    " with its device, launcher, timed region, threads and CPU limit, whatever its host is called.",
    [
        shown
        for column in RESULT_COLUMNS
        for shown in (_SHOWN_GRADES if column.name == "grade" else [column])
    ],
    joined_results(_LATEST_ROWS),
)
_HOST_KEY = f"coalesce({HOST_OF_VERDICT.expression}, r.hostname, r.run_id)"
_NEWEST_VERDICTS = f"""
    SELECT arg_max(r.rowid, {RESULT_ORDER}) FROM {joined_verdicts()}
    GROUP BY r.source, r.cell_id, {_HOST_KEY}
"""
LATEST_ALL = view(
    "latest_results_all",
    "The newest verdict on each cell on each machine, whatever it was.",
    VERDICT_COLUMNS,
    joined_verdicts(f"(SELECT * FROM benchmark_results WHERE rowid IN ({_NEWEST_VERDICTS}))"),
)
