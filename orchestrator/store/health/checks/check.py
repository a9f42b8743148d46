"""A check: a question in SQL that a sound database answers with no row.

The files in the folder `sql` hold them, each under lines with its name, remedy and facts, and with
its repair behind it; `all_checks` makes what follows from columns. A check of single records names
the relation `records r`, so that it judges the rows of a database and those that are about to be
merged by the same words. Its condition is cheap and may keep too many rows; those are faulty whose
`fault` is neither null nor empty.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from orchestrator.store.merge.dimensions import infer_runs

Severity = Literal["error", "warning", "note"]

_SECTION = re.compile(r"^-- (check|repair): (.+)\n", re.MULTILINE)
_FACT = re.compile(r"-- (remedy|severity|imported|table|views|timed)(?:: (.+))?\n")
_OUTRIGHT = ", outright"
_RECORDS = " AS fault\nFROM records r\nWHERE "
_IN_DATABASE = "SELECT *, rowid AS row_id FROM benchmark_results"
_WITH_DURATIONS = f"SELECT * FROM ({_IN_DATABASE}) LEFT JOIN raw_benchmark_data USING (result_id)"
_REPAIRS_OF_A_MERGE = {
    "result without its run": infer_runs("run_id NOT IN (SELECT run_id FROM benchmark_runs)")
}


@dataclass(frozen=True, kw_only=True)
class Check:
    """One thing that may be wrong with the database."""

    name: str
    """A few words for what it finds."""
    remedy: str
    """Advice on what to do about it."""
    query: str
    """The faulty rows: `row_id`, `subject` (their id), `source`, and `fault` (in words)."""
    severity: Severity = "error"
    """Severity in rows of ours."""
    imported: Severity = "warning"
    """Severity in rows that others measured, whose files may well say so."""
    repair: str | None = None
    """Statements that derive the right values of the rows in `wrong`, the answer to the query; None
    if nothing does."""
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
    condition: str
    """The condition that each faulty record fulfils, and some sound ones may."""
    timed: bool
    """True if it reads the record's raw durations."""
    at_entry: bool
    """True if it also judges records before they are merged."""


def record_check(
    fault: str, condition: str, *, timed: bool = False, at_entry: bool = True, **facts: Any
) -> RecordCheck:
    """The check of single records with these expressions, and with the other facts of a check."""
    query = f"""
        {records_in_database(timed=timed)} SELECT * FROM (
            SELECT row_id, result_id AS subject, source, {fault} AS fault
            FROM records r WHERE {condition}
        ) WHERE fault <> ''
    """
    return RecordCheck(
        query=query, fault=fault, condition=condition, timed=timed, at_entry=at_entry, **facts
    )


def checks_in(name: str) -> tuple[Check, ...]:
    """The checks of one file in the folder `sql`, in its order."""
    _, *parts = _SECTION.split(read_sql(name))
    sections = list(zip(parts[::3], parts[1::3], parts[2::3], strict=True))
    repairs = {check: sql for kind, check, sql in sections if kind == "repair"}
    repairs |= _REPAIRS_OF_A_MERGE
    return tuple(
        _check(check, text, repairs.get(check)) for kind, check, text in sections if kind == "check"
    )


def _check(name: str, text: str, repair: str | None) -> Check:
    written: dict[str, str] = {}
    while match := _FACT.match(text):
        written[match[1]] = match[2] or ""
        text = text[match.end() :]
    facts: dict[str, Any] = {"name": name, "repair": repair, **written}
    is_timed = facts.pop("timed", None) is not None
    if table := written.get("table"):
        facts |= {"table": table.removesuffix(_OUTRIGHT), "outright": table.endswith(_OUTRIGHT)}
    if views := written.get("views"):
        facts["views"] = tuple(views.split(", "))
    selected, is_of_records, condition = text.partition(_RECORDS)
    if not is_of_records:
        return Check(query=text, **facts)
    return record_check(selected.partition("SELECT ")[2], condition, timed=is_timed, **facts)


@cache
def read_sql(name: str) -> str:
    """The text of a file in the folder `sql`, named without its ending."""
    return files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")


def records_in_database(*, timed: bool) -> str:
    """The clause that names the rows of the database `records`, with their raw durations or not."""
    if timed:
        return with_derived(f"({_WITH_DURATIONS})")
    return f"WITH records AS ({_IN_DATABASE})"


def with_derived(timed: str, needed: str = "is_ours(source) AND status = 'ok'") -> str:
    """The clause that names the rows of a table or subquery, which hold raw durations, `records`.

    Rows that fulfil `needed` must state what their raw durations tell.
    """
    return f"WITH records AS ({read_sql('derived').format(timed=timed, needed=needed)})"
