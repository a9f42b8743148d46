"""A check: a question in SQL that a sound database answers with no row.

The SQL stands in the folder `sql`, one file for each check and one for each repair.
"""

import re
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from orchestrator.store.schema.tables import Table

Severity = Literal["error", "warning", "note"]


def read_sql(name: str) -> str:
    """The text of a file in the folder `sql`, named without its ending."""
    return files(__package__).joinpath("sql", f"{name}.sql").read_text("utf-8")


@dataclass(frozen=True)
class Check:
    """One thing that may be wrong with the database."""

    name: str
    """A few words for what it finds; its query is the file of this name, with `_` between words."""
    remedy: str
    """Advice on what to do about it."""
    severity: Severity = "error"
    """Severity in rows of ours."""
    imported: Severity = "warning"
    """Severity in rows that others measured, whose files may well say so."""
    repaired: bool = False
    """True if `<name>.repair.sql` derives the right values of the rows in `wrong`, the answer to
    the query."""
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
        return read_sql(self.file_name)

    @property
    def repair(self) -> str | None:
        """Statements that derive the right values; None if nothing does."""
        return read_sql(f"{self.file_name}.repair") if self.repaired else self.statement

    @property
    def file_name(self) -> str:
        """The file of its query, without the ending."""
        return re.sub(r"\W+", "_", self.name)
