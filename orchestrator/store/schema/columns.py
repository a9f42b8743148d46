"""Columns of the database; those of records, their origins and runs stand in `columns.json`.

`python -m tools.columns` makes that file from the frozen values and their docstrings. To load
pydantic, its models and their source takes longer than a short command itself.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class SqlColumn:
    """One column of a table."""

    name: str
    type: str
    """DuckDB's name of the type."""
    doc: str
    """Its meaning with its unit; becomes the column's comment."""
    nullable: bool = True
    """True if it may be null, which says `not known`."""
    allowed: tuple[str, ...] = ()
    """The values it may take; empty when there is no such list."""
    range: str | None = None
    """The range of its numbers by its name in `RANGES`; None: any."""
    default: str | None = None
    """Its value as SQL where a file lacks it; None: null."""
    compression: str | None = None
    """DuckDB's compression of it; None leaves the choice to DuckDB."""

    @property
    def definition(self) -> str:
        """The column as `CREATE TABLE` wants it."""
        compression = f" USING COMPRESSION {self.compression}" if self.compression else ""
        return f"{self.name} {self.type}{compression}" + ("" if self.nullable else " NOT NULL")


def names(columns: Iterable[SqlColumn]) -> str:
    """The columns' names as a list for SQL."""
    return ", ".join(column.name for column in columns)


COLUMNS_FILE = Path(__file__).with_name("columns.json")
_FILE: Mapping[str, Iterable[Mapping[str, Any]]] = json.loads(COLUMNS_FILE.read_text("utf-8"))


def _columns(name: str) -> tuple[SqlColumn, ...]:
    return tuple(
        SqlColumn(**{**facts, "allowed": tuple(facts.get("allowed", ()))}) for facts in _FILE[name]
    )


RECORD, ORIGIN, RUN = _columns("record"), _columns("origin"), _columns("run")
"""The columns of a record, of its origin and of a run."""
