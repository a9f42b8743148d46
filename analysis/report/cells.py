"""Results in reports: a row for each cell, and the details behind each number."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from analysis.report.report import ReportedResults, ResultDetail
from analysis.results.differing import shared, varying
from analysis.results.metrics import METRICS, PERFORMANCE_VIEW, Metric
from analysis.results.source import OWN_SOURCES
from analysis.results.table import Field, RowFacts, Table
from analysis.statistics.numbers import rounded
from runner.contract.axes import AXES

_WORDS = ("model", "backend", "runtime", "precision", "mode", "scenario")
CELL_FIELDS = (
    *(Field(name) for name in _WORDS),
    *(
        Field(axis.name, axis.heading or axis.name, "number")
        for axis in AXES
        if axis.kind in ("size", "count")
    ),
)
"""Columns that tell what was measured."""
GRADE_FIELD = Field("grade", kind="grade")
_OURS, _SYNTHETIC = OWN_SOURCES
_ALWAYS = frozenset({"model", "backend", "precision", "batch_size"})
"""Columns that are there even if all rows agree."""
_UNSAID = _ALWAYS | {"hostname"}
"""Columns that are no fact of a report even if all rows agree: its top is shown to others."""
_MOST_POINTS = 64
"""Durations of one result that a report holds; of more, the least and greatest of each stretch."""


def _measured(metric: Metric) -> Field:
    """The column of a metric; rows hold the intervals of their own view alone."""
    ends = (metric.low, metric.high) if metric.view == PERFORMANCE_VIEW else (None, None)
    return Field(metric.column, metric.report or metric.heading, "number", *ends, measured=True)


_LEADING = [METRICS[name] for name in ("throughput", "tokens", "peak_qps", "latency")]
_NUMBERS = (
    *map(_measured, _LEADING),
    Field("latency_precision", "±", "share"),
    GRADE_FIELD,
    *(_measured(metric) for metric in METRICS.values() if metric.report and metric not in _LEADING),
)
_TRUST = (
    Field("proof"),
    Field("outputs"),
    Field("hardware", "device"),
    Field("hostname", "host"),
    Field("source", "measured by"),
    Field("measured_at", "measured", "moment"),
)


def cell_table(results: ReportedResults) -> Table:
    rows = [_row(row) for row in results.rows]
    different = varying(rows, [field.name for field in (*CELL_FIELDS, *_TRUST)])
    cell = [field for field in CELL_FIELDS if field.name in {*different, *_ALWAYS}]
    trust = [field for field in _TRUST if field.name in different]
    fields = (*cell, *_NUMBERS, *trust)
    return Table("Results", fields, rows, name="results", left_out=results.left_out).filled()


def shared_facts(rows: Sequence[RowFacts]) -> dict[str, str]:
    """The columns in which all rows agree, by their headings."""
    words = {
        field.name: field.title
        for field in (*CELL_FIELDS, *_TRUST)
        if field.name not in _UNSAID and field.kind == "word"
    }
    facts = shared([_row(row) for row in rows], words)
    return {words[name]: str(value) for name, value in facts.items() if value not in (None, _OURS)}


def marks_sentences(results: ReportedResults) -> Iterator[str]:
    """Sentences on results that AccelMatrix did not measure, or that must not be quoted."""
    rows = results.rows
    foreign = Counter(row["source"] for row in rows if row["source"] not in OWN_SOURCES)
    if foreign:
        sources = ", ".join(sorted(foreign))
        yield (
            f"{foreign.total():,} of {len(rows):,} results were measured by others ({sources}):"
            " AccelMatrix proved neither their device nor their outputs."
        )
    held = sum(not row["quotable"] for row in rows if row["source"] in OWN_SOURCES)
    if held:
        yield f"{held:,} of {len(rows):,} results must not be quoted: see proof and outputs."
    if results.selection.imported:
        selected = results.selection.condition
        (counted,) = results.ask(
            "SELECT count(*) AS simulated FROM benchmark_performance_all r"
            f" WHERE r.simulated AND r.source <> '{_SYNTHETIC}' AND ({selected})"
        )
        if counted["simulated"]:
            yield f"Left out, since their files call them simulated: {counted['simulated']:,}."


def _row(row: RowFacts) -> RowFacts:
    """A row with its outputs in a word; samples a second say nothing of generation."""
    unknown = "not compared" if row["off"] is None else "not told"
    passed = "agree" if row["precision"] == "fp32" else "within tolerance"
    outputs = {True: passed, False: "wrong", None: unknown}[row["correct"]]
    shown = {**row, "outputs": outputs}
    if row["mode"] == "generation":
        shown["throughput"] = None
    return shown


def result_details(results: ReportedResults) -> Mapping[str, ResultDetail]:
    durations = {row["result_id"]: row for row in results.ask(_durations_sql(results.ids))}
    return {row["result_id"]: _detail(row, durations.get(row["result_id"])) for row in results.rows}


def _detail(row: RowFacts, durations: RowFacts | None) -> ResultDetail:
    known = durations or {}
    return ResultDetail(
        cell_id=row["cell_id"],
        facts=[(name, value) for name, value in _facts(row).items() if value],
        warmup_ms=_milliseconds(known.get("warmup")),
        timed_ms=_milliseconds(known.get("timed")),
        warmup_count=known.get("warmup_count") or 0,
        timed_count=known.get("timed_count") or 0,
        is_ours=row["source"] in OWN_SOURCES,
    )


def _facts(row: RowFacts) -> dict[str, str | Sequence[str] | None]:
    moment, file = row["measured_at"], row.get("source_file")
    origin = f"{row['source']}: {file}" if file else str(row["source"])
    return {
        "measured by": None if row["source"] in OWN_SOURCES else origin,
        "grade": row["grade"],
        "because": row["grade_reasons"] or (),
        "contradicted by": row.get("contradicted_by"),
        "proof": row["proof"],
        "outputs": _outputs_words(row),
        "run": row["run_id"],
        "measured": moment and f"{moment:%Y-%m-%d %H:%M} UTC",
        "device": row["hardware"],
        "host": row["hostname"],
        "launched by": row["launcher"],
        "profile": row["profile"],
        "rounds": row["rounds"] and str(row["rounds"]),
        "timed region": row["timed_region"],
    }


def _outputs_words(row: RowFacts) -> str:
    """The check of a result's outputs against the fp32 reference."""
    if row["correct"] is None:
        return row.get("correct_reason") or "not compared"
    precision = row["precision"]
    passed = "agree with" if precision == "fp32" else f"within what {precision} may do to"
    words = f"{passed} the fp32 reference" if row["correct"] else "wrong"
    off = f", off by {row['off']:.2g}" if row["off"] else ""
    reason = "" if row["correct"] else f": {row.get('correct_reason')}"
    return f"{words}{off}{reason}"


def _milliseconds(nanoseconds: Sequence[int] | None) -> tuple[float, ...]:
    return tuple(rounded(value / 1e6, 4) for value in nanoseconds or () if value)


def _durations_sql(ids: str) -> str:
    warmup, timed = (_thinned(name) for name in ("warmup_durations_ns", "durations_ns"))
    return f"""
        SELECT result_id, {warmup} AS warmup, {timed} AS timed,
            len(warmup_durations_ns) AS warmup_count, len(durations_ns) AS timed_count
        FROM raw_benchmark_data WHERE result_id IN ({ids})
    """


def _thinned(column: str) -> str:
    """A list for a drawing: whole, or of each stretch the least and the greatest."""
    stretches = _MOST_POINTS // 2
    stretch = (
        f"{column}[i * len({column}) // {stretches} + 1:(i + 1) * len({column}) // {stretches}]"
    )
    ends = f"[list_min({stretch}), list_max({stretch})]"
    return (
        f"CASE WHEN len({column}) <= {_MOST_POINTS} THEN {column}"
        f" ELSE flatten(list_transform(range({stretches}), lambda i: {ends})) END"
    )
