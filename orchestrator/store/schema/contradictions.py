"""Contradictions: neighbours of one series that differ by more than their grades promise.

The rule is that of `analysis.results.changes`, in SQL: the 95 % interval of the ratio of both times
of an item (MOVER, Zou and Donner 2008) lies far enough from 1, the ratio is beyond what the worse
grade promises, and neither the software nor the settings of the machine differ. Then the one of the
worse grade may be wrong, or both of them.
"""

from analysis.results.conditions import CONDITIONS
from analysis.results.item_time import item_seconds_sql
from analysis.results.source import text
from analysis.statistics.ratios import DIFFERENCE_FACTOR, PROMISES
from orchestrator.store.schema.tables import RESULTS
from orchestrator.store.schema.view import (
    DEVICE,
    MEASURED_AT,
    RESULT_ORDER,
    SERIES_KEY,
    TRUSTED,
    View,
    ViewColumn,
    joined_results,
    result_columns,
    select_list,
    view_columns,
)

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
    """The low or high end of the interval of the ratio of one time by another.

    A factor makes it so many times as wide, on a logarithmic scale.
    """
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
        FROM {RESULTS.name} r WHERE {TRUSTED} AND {GRADED}
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
_COLUMNS = [
    *result_columns("result_id", "run_id", "cell_id", "model"),
    DEVICE,
    *result_columns("launcher", "backend", "runtime", "precision", "batch_size", "mode"),
    ViewColumn("measured_at", MEASURED_AT, "TIMESTAMPTZ", "When the result was measured, UTC."),
    ViewColumn(
        "latency_median_ms", "r.latency_median_s * 1000", "DOUBLE", "Its median time, milliseconds."
    ),
    ViewColumn("grade", "s.one.grade", "VARCHAR", "The grade that it was recorded with."),
    ViewColumn(
        "contradicted_by",
        "o.result_id",
        "VARCHAR",
        "The result before or after it in its series, with the same software and settings, and no"
        " worse a grade.",
    ),
    ViewColumn(
        "other_median_ms", "o.latency_median_s * 1000", "DOUBLE", "That one's median, milliseconds."
    ),
    ViewColumn("other_grade", "s.other.grade", "VARCHAR", "That one's grade."),
    ViewColumn(
        "ratio",
        "s.one.time / s.other.time",
        "DOUBLE",
        "This one's time of an item by that one's: of a sample, a start, or at a set rate a query;"
        " of a peak, by its rate.",
    ),
    ViewColumn(
        "ratio_low", ratio_end("s.one", "s.other", "low"), "DOUBLE", "Its 95 % interval's low end."
    ),
    ViewColumn("ratio_high", ratio_end("s.one", "s.other", "high"), "DOUBLE", "Its high end."),
    ViewColumn(
        "promise",
        promise("s.one", "s.other"),
        "DOUBLE",
        "The least difference that their grades let them show, 0.05 for 5 %.",
    ),
]
CONTRADICTED = View(
    "contradictions",
    "Results whose grade does not hold: the next or the last one of their series, with the same"
    " software and settings, differs by more than both grades promise. `latest_results` shows them"
    " with D.",
    view_columns(_COLUMNS),
    f"SELECT {select_list(_COLUMNS)} FROM {joined_results()}"
    f" JOIN ({_SIDES}) s ON r.rowid = s.one.place"
    f" JOIN {RESULTS.name} o ON o.rowid = s.other.place",
)
