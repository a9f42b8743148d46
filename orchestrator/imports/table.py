"""CSV files as rows with line numbers, and words of tables: yes or no, times."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator.imports.document import Document
from orchestrator.system.problems import quote
from runner.contract.errors import DamagedFile

_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True)
class TableRow:
    """One line's fields by column, or its fault."""

    location: str
    """`line 12`, counted from 1 with the header."""
    cells: dict[str, str]
    """Empty if there is a fault."""
    fault: str | None = None


def rows_of(document: Document, delimiter: str = ",") -> Iterator[TableRow]:
    """The rows after the header, without empty lines.

    Raises:
        DamagedFile: the file is no CSV from some line on, or names a column twice.
    """
    lines = csv.reader(io.StringIO(document.text or ""), delimiter=delimiter)
    try:
        header = _header(next(lines, []))
        for fields in lines:
            if any(field.strip() for field in fields):
                yield _row(header, fields, f"line {lines.line_num}")
    except csv.Error as error:
        raise DamagedFile(f"line {lines.line_num}: not CSV: {error}") from None


def column_names(document: Document, delimiter: str = ",") -> list[str]:
    """The columns that the first line names; none if it is no CSV.

    Raises:
        DamagedFile: it names a column twice.
    """
    try:
        return _header(next(csv.reader(io.StringIO(document.text or ""), delimiter=delimiter), []))
    except csv.Error:
        return []


def _header(fields: list[str]) -> list[str]:
    header = [name.strip() for name in fields]
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise DamagedFile(f"line 1: the column {twice!r} appears twice")
    return header


def _row(header: list[str], fields: list[str], location: str) -> TableRow:
    if len(fields) != len(header):
        fault = f"{location}: {len(fields)} fields stand under {len(header)} columns"
        return TableRow(location, {}, fault)
    return TableRow(location, dict(zip(header, fields, strict=True)))


def parse_boolean(value: object) -> bool | None:
    """True or false, also from text and from 1 and 0; None for null.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return None
    word = str(value).strip().lower()
    if isinstance(value, bool | int | str) and word in _BOOLEANS:
        return _BOOLEANS[word]
    raise ValueError(f"{quote(value)} is neither true nor false")


def parse_time(text: str) -> tuple[datetime, bool]:
    """A time in ISO 8601, with True if it names its zone; else it is taken as UTC.

    Raises:
        ValueError: it is no time.
    """
    moment = datetime.fromisoformat(text.strip())
    return (moment, True) if moment.tzinfo else (moment.replace(tzinfo=UTC), False)
