"""A check: a question in SQL that a sound database answers with no row.

The SQL of relations and repairs stands in the folder `sql`, each below a line with the name of its
check; `columns` makes what follows from columns. A check of single records names the relation
`records r`, so that it judges the rows of a database and those that are about to be merged by the
same words. Its condition is cheap and may keep too many rows; those are faulty whose `fault` is
neither null nor empty.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

from orchestrator.store.schema.tables import Table

Severity = Literal["error", "warning", "note"]


_FILES = ("identity", "claims", "raw_durations", "arithmetic")
_RECORDS = " AS fault\nFROM records r\nWHERE "
_IN_DATABASE = "SELECT *, rowid AS row_id FROM benchmark_results"
_WITH_DURATIONS = f"SELECT * FROM ({_IN_DATABASE}) LEFT JOIN raw_benchmark_data USING (result_id)"


_HEAD = re.compile(r"^-- (check|repair): (.+)$", re.MULTILINE)


@cache
def _sections() -> Mapping[tuple[str, str], str]:
    """The SQL of checks and repairs by kind and name."""
    statements: dict[tuple[str, str], str] = {}
    for name in _FILES:
        _, *parts = _HEAD.split(read_sql(name))
        statements |= zip(zip(parts[::3], parts[1::3], strict=True), parts[2::3], strict=True)
    return statements


def read_sql(name: str) -> str:
    """The text of a file in the folder `sql`, named without its ending."""
    return files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")


@dataclass(frozen=True)
class Check:
    """One thing that may be wrong with the database."""

    name: str
    """A few words for what it finds."""
    remedy: str
    """Advice on what to do about it."""
    severity: Severity = "error"
    """Severity in rows of ours."""
    imported: Severity = "warning"
    """Severity in rows that others measured, whose files may well say so."""
    repaired: bool = False
    """True if there is SQL that derives the right values of the rows in `wrong`, the answer to the
    query."""
    statement: str | None = None
    """The repair of a check that shares it with another room."""
    table: Table | None = None
    """The table from which rows with an error that nothing repairs go into quarantine; None: they
    stay."""
    views: tuple[str, ...] = ()
    """Views that the query reads; where one is missing or has other columns, the check is left
    out."""
    outright: bool = False
    """True if faulty rows go into quarantine before any repair, since later repairs derive values
    from other rows."""

    @property
    def query(self) -> str:
        """The faulty rows: `row_id`, `subject` (their id), `source`, and `fault`
        (in words).
        """
        return _sections()["check", self.name]

    @property
    def repair(self) -> str | None:
        """Statements that derive the right values; None if nothing does."""
        return _sections()["repair", self.name] if self.repaired else self.statement


@dataclass(frozen=True)
class RecordCheck(Check):
    """A check that judges each record by itself, in the database or before it is merged."""

    timed: bool = False
    """True if it reads the record's raw durations."""
    at_entry: bool = True
    """True if it also judges records before they are merged."""

    @property
    def query(self) -> str:
        """The faulty rows of the database."""
        return f"""
            {records_in_database(timed=self.timed)} SELECT * FROM (
                SELECT row_id, result_id AS subject, source, {self.fault} AS fault
                FROM records r WHERE {self.condition}
            ) WHERE fault <> ''
        """

    @property
    def fault(self) -> str:
        """The expression of a record's fault; null or empty for a sound record."""
        return self._parts[0]

    @property
    def condition(self) -> str:
        """The condition that each faulty record fulfils, and some sound ones may."""
        return self._parts[1]

    @property
    def _parts(self) -> tuple[str, str]:
        selected, _, condition = _sections()["check", self.name].partition(_RECORDS)
        return selected.partition("SELECT ")[2], condition


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
