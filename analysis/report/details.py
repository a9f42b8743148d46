"""Details of results: grade, proof and raw durations behind each number."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.report.report import ResultDetail
from analysis.report.results import ReportedResults
from analysis.results.source import OWN_SOURCES
from analysis.results.table import RowFacts
from analysis.statistics.numbers import rounded

_MOST_POINTS = 64
"""Durations of one result that a report holds; of more, the least and greatest of each stretch."""


def result_details(results: ReportedResults) -> Mapping[str, ResultDetail]:
    """The details of each result by its id."""
    durations = {row["result_id"]: row for row in results.ask(_durations_sql(results.ids))}
    return {
        row["result_id"]: _detail(row, durations.get(row["result_id"], {})) for row in results.rows
    }


def _detail(row: RowFacts, durations: Mapping[str, Any]) -> ResultDetail:
    return ResultDetail(
        cell_id=row["cell_id"],
        facts=[(name, value) for name, value in _facts(row).items() if value],
        warmup_ms=_milliseconds(durations.get("warmup")),
        timed_ms=_milliseconds(durations.get("timed")),
        warmup_count=durations.get("warmup_count") or 0,
        timed_count=durations.get("timed_count") or 0,
        is_ours=row["source"] in OWN_SOURCES,
    )


def _facts(row: RowFacts) -> dict[str, str | Sequence[str] | None]:
    moment = row["measured_at"]
    measured = moment and f"{moment:%Y-%m-%d %H:%M} UTC"
    return {
        "measured by": None if row["source"] in OWN_SOURCES else _origin(row),
        "grade": row["grade"],
        "because": row["grade_reasons"] or (),
        "contradicted by": row.get("contradicted_by"),
        "proof": row["proof"],
        "outputs": outputs_in_words(row),
        "run": row["run_id"],
        "measured": measured,
        "device": row["hardware"],
        "host": row["hostname"],
        "launched by": row["launcher"],
        "profile": row["profile"],
        "rounds": row["rounds"] and str(row["rounds"]),
        "timed region": row["timed_region"],
    }


def _origin(row: RowFacts) -> str:
    file = f": {row['source_file']}" if row.get("source_file") else ""
    return f"{row['source']}{file}"


def outputs_in_words(row: RowFacts) -> str:
    """The check of a result's outputs against the fp32 reference."""
    if row["correct"] is None:
        return row.get("correct_reason") or "not compared"
    words = "agree with the fp32 reference" if row["correct"] else "wrong"
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
