"""Checks of a database: each is a question in SQL that a sound one answers with no row.

The files in the folder `sql` hold them, each under lines with its name, remedy and facts, and with
its repair behind it; others follow from the columns of results, which docs/measuring.md defines. A
check of single records names the relation `records r`, so that it judges the rows of a database and
those that are about to be merged by the same words. Its condition is cheap and may keep too many
rows; those are faulty whose `fault` is neither null nor empty. A repair derives a column only from
statistics that the raw durations confirm, and only where the cell's id confirms the batch.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from analysis.results.source import text
from orchestrator.store.health.derived import (
    OF_PARTS,
    WITH_DURATIONS,
    derived,
    read_sql,
    records_in_database,
)
from orchestrator.store.merge.dimensions import infer_runs
from orchestrator.store.schema.parquet_columns import KNOWN
from orchestrator.store.schema.tables import REQUIRED, RESULTS
from runner.contract.record.ranges import RANGES, Range

Severity = Literal["error", "warning", "note"]

_SECTION = re.compile(r"^-- (check|repair): (.+)\n", re.MULTILINE)
_FACT = re.compile(r"-- (remedy|severity|imported|table|views|timed)(?:: (.+))?\n")
_OUTRIGHT = ", outright"
_RECORDS = " AS fault\nFROM records r\nWHERE "
_OURS = "r.rowid IN (SELECT row_id FROM wrong WHERE is_ours(source))"
_CONFIRMED = f"""
    {_OURS} AND r.scenario <> 'server'
    AND (r.scenario = 'offline' OR r.cell_id LIKE '%-b' || r.batch_size || '-%')
    AND r.result_id IN (SELECT result_id FROM raw_benchmark_data WHERE durations_ns IS NOT NULL)
"""
"""Results with raw durations and a batch that their ids confirm."""
_STATISTICS = (
    "latency_mean_s",
    "latency_median_s",
    "latency_min_s",
    "latency_max_s",
    "steady_time_s",
)
_RECOGNISED = f"""
    len(d.durations_ns) > 0
    AND ({" OR ".join(f"NOT differs(r.{name}, d.derived_{name})" for name in _STATISTICS)})
"""
"""Results of which one statistic at least is that of these durations, which are its own then."""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that may be wrong with the database."""

    name: str
    remedy: str
    query: str
    """The faulty rows: `row_id`, `subject` (their id), `source`, and `fault` (in words)."""
    severity: Severity = "error"
    """Severity in rows of ours."""
    imported: Severity = "warning"
    """Severity in rows that others measured, whose files may well say so."""
    repair: str | None = None
    """Statements that derive the right values of the rows in `wrong`, the answer to the query."""
    table: str | None = None
    """The table from which rows with an error that nothing repairs go into quarantine; None: they
    stay."""
    outright: bool = False
    """True if faulty rows go into quarantine before any repair, since later repairs derive values
    from other rows."""
    views: tuple[str, ...] = ()
    """Views that the query reads; where one is missing or has other columns, the check is left
    out."""


@dataclass(frozen=True, kw_only=True)
class RecordCheck(Check):
    """A check that judges each record by itself, in the database or before it is merged."""

    fault: str
    """The expression of a record's fault; null or empty for a sound record."""
    condition_in: Callable[[Collection[str]], str]
    """The condition that each faulty record fulfils, and some sound ones may, if none of them has
    other columns than these; a shorter one is planned sooner. Empty: none can be faulty."""
    timed: bool
    """True if it reads the record's raw durations."""
    at_entry: bool
    """True if it also judges records before they are merged."""

    @property
    def condition(self) -> str:
        return self.condition_in(KNOWN)


def _record_check(
    fault: str,
    condition_in: Callable[[Collection[str]], str],
    *,
    timed: bool = False,
    at_entry: bool = True,
    **facts: Any,
) -> RecordCheck:
    query = f"""
        {records_in_database(timed=timed)} SELECT * FROM (
            SELECT row_id, result_id AS subject, source, {fault} AS fault
            FROM records r WHERE {condition_in(KNOWN)}
        ) WHERE fault <> ''
    """
    return RecordCheck(
        query=query, fault=fault, condition_in=condition_in, timed=timed, at_entry=at_entry, **facts
    )


def _checks_in(name: str) -> Iterator[Check]:
    _, *parts = _SECTION.split(read_sql(name))
    sections = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
    repairs = {check: _completed(sql) for kind, check, sql in sections if kind == "repair"}
    repairs["result without its run"] = infer_runs(
        "run_id NOT IN (SELECT run_id FROM benchmark_runs)"
    )
    for kind, check, sql in sections:
        if kind == "check":
            yield _check(check, sql, repairs.get(check))


def _completed(repair: str) -> str:
    """A repair with the relation and the conditions that it names in braces."""
    return repair.format(
        derived=derived(WITH_DURATIONS, "true"),
        ours=_OURS,
        confirmed=_CONFIRMED,
        recognised=_RECOGNISED,
    )


def _check(name: str, sql: str, repair: str | None) -> Check:
    written: dict[str, str] = {}
    while match := _FACT.match(sql):
        written[match[1]] = match[2] or ""
        sql = sql[match.end() :]
    facts: dict[str, Any] = {"name": name, "repair": repair, **written}
    is_timed = facts.pop("timed", None) is not None
    if table := written.get("table"):
        facts |= {"table": table.removesuffix(_OUTRIGHT), "outright": table.endswith(_OUTRIGHT)}
    if views := written.get("views"):
        facts["views"] = tuple(views.split(", "))
    selected, is_of_records, condition = sql.partition(_RECORDS)
    if not is_of_records:
        return Check(query=sql, **facts)
    fault = selected.partition("SELECT ")[2]
    return _record_check(fault, lambda _: condition, timed=is_timed, **facts)


_FAULTS: Mapping[str, str] = {
    "size": "no_size(r.{name})",
    "positive": "not_positive(r.source, r.{name})",
    "non-negative": "negative(r.{name})",
    "deviation": "below_zero(r.{name})",
    "cosine": "CASE WHEN NOT isnan(r.{name}) THEN outside(r.{name}, {low}, {high}) END",
    "finite": "infinite(r.{name})",
}
"""The words for a fault of a column, by its range; of others, that it is outside."""
_OUTSIDE = "outside(r.{name}, {low}, {high})"
_NO_TIME = "list_min(r.durations_ns) = 0"


def ranges() -> Iterator[tuple[str, Range]]:
    """The columns of results that hold numbers, each with its range; seeds may be any."""
    for column in RESULTS.columns:
        if column.range is not None:
            yield column.name, RANGES[column.range]


def _range_check() -> RecordCheck:
    """No number is outside its range; the least and the largest of each range stand for others."""
    faults = []
    for name, known in ranges():
        words = _FAULTS.get(known.name, _OUTSIDE)
        faults.append(words.format(name=name, low=known.low, high=known.high))
    return _record_check(
        f"concat_ws(', ', {', '.join(faults)})",
        _outside_ranges,
        name="impossible value",
        remedy="`--fix` derives statistics from raw durations and takes out what it cannot derive",
        imported="error",
        table=RESULTS.name,
    )


def _outside_ranges(columns: Collection[str]) -> str:
    names: dict[Range, list[str]] = {}
    for name, known in ranges():
        if name in columns:
            names.setdefault(known, []).append(f"r.{name}")
    return " OR ".join(_outside(known, alike) for known, alike in names.items())


def _outside(known: Range, names: Sequence[str]) -> str:
    if known.low is None:
        return " OR ".join(f"NOT isfinite({name})" for name in names)
    if known.name == "cosine":
        between = f"BETWEEN {known.low} AND {known.high}"
        return " OR ".join(f"NOT (isnan({name}) OR {name} {between})" for name in names)
    least, largest = f"least({', '.join(names)})", f"greatest({', '.join(names)})"
    if known.name == "deviation":
        return f"{least} < 0"
    return f"NOT ({least} {'>' if known.above else '>='} {known.low} AND {largest} <= {known.high})"


def _zero_check() -> RecordCheck:
    """Others' files have no 0 for what they did not measure."""
    names = [f"r.{name}" for name, known in ranges() if known.name == "positive"]
    zeros = ", ".join(f"zero({name})" for name in names)
    condition = f"NOT is_ours(r.source) AND (least({', '.join(names)}) = 0 OR {_NO_TIME})"
    return _record_check(
        f"concat_ws(', ', {zeros}, CASE WHEN {_NO_TIME} THEN 'a raw duration is 0' END)",
        lambda _: condition,
        name="zero of others",
        remedy="ask whoever wrote the file",
        severity="warning",
        timed=True,
        at_entry=False,
    )


def _parts_check() -> RecordCheck:
    """Statistics of the parts of an iteration: tokens, training, start-up, service."""
    changes = ", ".join(f"{name} = derived(r.{name}, d.derived_{name})" for name in OF_PARTS)
    repair = (
        f"UPDATE benchmark_results r SET {changes} FROM ({{derived}}) d"
        " WHERE r.rowid = d.row_id AND {ours} AND d.part_durations_ns IS NOT NULL"
    )
    pairs = ", ".join(f"pair(r.{name}, r.derived_{name})" for name in OF_PARTS)
    return _record_check(
        f"contradictions([{pairs}], r.source)",
        lambda columns: " OR ".join(
            f"differs(r.{name}, r.derived_{name})" for name in OF_PARTS if name in columns
        ),
        name="parts contradict raw durations",
        remedy="`--fix` derives them where the durations are this result's, and takes out the rest",
        table=RESULTS.name,
        timed=True,
        repair=_completed(repair),
    )


_Chain = tuple[str, ...]
"""Columns of which none is above one behind it."""


def _order_check(name: str, chains: Sequence[_Chain]) -> RecordCheck:
    """Columns are in order; every pair counts, since those between may be null."""
    pairs = [pair for chain in chains for pair in combinations(chain, 2)]
    return _record_check(
        f"disorder([{', '.join(f'pair(r.{low}, r.{high})' for low, high in pairs)}], r.source)",
        lambda columns: " OR ".join(
            f"r.{low} > r.{high}" for low, high in pairs if low in columns and high in columns
        ),
        name=name,
        remedy="`--fix` takes from raw durations what they tell, and takes out the rest",
        table=RESULTS.name,
    )


_PERCENTILES = ("p50", "p90", "p95", "p99", "p999")
_PERCENTILE_CHAINS = (
    ("latency_min_s", *(f"latency_{name}_s" for name in _PERCENTILES), "latency_max_s"),
    *(
        tuple(f"{time}_{name}_s" for name in _PERCENTILES)
        for time in ("time_to_first_token", "time_per_output_token", "inter_token_latency")
    ),
)
_MIDDLE_CHAINS = tuple(
    ("latency_min_s", middle, "latency_max_s") for middle in ("latency_median_s", "latency_mean_s")
)


def _interval_chains() -> tuple[_Chain, ...]:
    names = {column.name for column in RESULTS.columns}
    chains = ((low, low.replace("_low", ""), low.replace("_low", "_high")) for low in names)
    return tuple(sorted(chain for chain in chains if len({*chain} & names) == 3))


def _word_check() -> Check:
    """Words are listed; others may have their own where a column may be null."""
    faults = (
        f"CASE WHEN r.{column.name} NOT IN ({', '.join(map(text, column.allowed))})"
        f"{'' if column.name in REQUIRED else ' AND is_ours(r.source)'}"
        f" THEN {text(f'{column.name} is ')} || r.{column.name} END"
        for column in RESULTS.columns
        if column.allowed
    )
    return Check(
        name="unknown word",
        remedy="`--fix` takes such results out",
        query=f"""
            SELECT * FROM (
                SELECT r.rowid AS row_id, r.result_id AS subject, r.source,
                    concat_ws(', ', {", ".join(faults)}) AS fault
                FROM benchmark_results r
            ) WHERE fault <> ''
        """,
        imported="error",
        table=RESULTS.name,
    )


_VALUES = (_range_check(), _zero_check(), *_checks_in("values"), _word_check())
CHECKS: tuple[Check, ...] = (
    *(*_checks_in("identity"), *_checks_in("raw_durations"), _parts_check()),
    *(*_checks_in("arithmetic"), *_VALUES),
    _order_check("percentiles out of order", _PERCENTILE_CHAINS),
    _order_check("middle outside its range", _MIDDLE_CHAINS),
    _order_check("interval out of order", _interval_chains()),
    *_checks_in("claims"),
)
"""In the order in which they are reported and repaired: later repairs build on earlier ones."""
RECORD_CHECKS: tuple[RecordCheck, ...] = tuple(
    check for check in dict.fromkeys((*_VALUES, *CHECKS)) if isinstance(check, RecordCheck)
)
"""Those that judge each record by itself: values first, since what follows from a wrong one is
wrong as well."""
