"""A CSV file as rows with the lines they stand in."""

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from orchestrator.imports.document import Document
from orchestrator.imports.formats.base import NotReadable
from orchestrator.system.problems import quote


@dataclass(frozen=True)
class Row:
    """One line's fields by column, or what is wrong with the line."""

    place: str
    """`line 12`, counted from 1 with the header."""
    cells: dict[str, str]
    """Empty if there is a fault."""
    fault: str | None = None


def rows_of(document: Document, delimiter: str = ",") -> Iterator[Row]:
    """The rows behind the header; lines without anything on them are passed over.

    Raises:
        NotReadable: the file is no CSV from some line on, or names a column twice.
    """
    lines = csv.reader(io.StringIO(document.text or ""), delimiter=delimiter)
    try:
        header = _header(next(lines, []))
        for fields in lines:
            if any(field.strip() for field in fields):
                yield _row(header, fields, f"line {lines.line_num}")
    except csv.Error as error:
        raise NotReadable(f"line {lines.line_num}: not CSV: {error}") from None


def columns_of(document: Document, delimiter: str = ",") -> list[str]:
    """The columns that the first line names; none if it is no CSV.

    Raises:
        NotReadable: it names a column twice.
    """
    try:
        return _header(next(csv.reader(io.StringIO(document.text or ""), delimiter=delimiter), []))
    except csv.Error:
        return []


def _header(fields: list[str]) -> list[str]:
    header = [name.strip() for name in fields]
    twice = next((name for name in header if name and header.count(name) > 1), None)
    if twice is not None:
        raise NotReadable(f"line 1: the column {twice!r} stands twice")
    return header


def _row(header: list[str], fields: list[str], place: str) -> Row:
    if len(fields) != len(header):
        fault = f"{place}: {len(fields)} fields stand under {len(header)} columns"
        return Row(place, {}, fault)
    return Row(place, dict(zip(header, fields, strict=True)))


_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def truth_from(value: object) -> bool | None:
    """Yes or no, also as text or as 1 and 0; None for null.

    Raises:
        ValueError: it is neither.
    """
    if value is None:
        return None
    word = str(value).strip().lower()
    if isinstance(value, bool | int | str) and word in _WORDS:
        return _WORDS[word]
    raise ValueError(f"{quote(value)} is neither true nor false")


def moment_in(text: str) -> tuple[datetime, bool]:
    """A point in time in ISO 8601, and whether its zone was told; else it is taken as UTC.

    Raises:
        ValueError: it is no time.
    """
    moment = datetime.fromisoformat(text.strip())
    return (moment, True) if moment.tzinfo else (moment.replace(tzinfo=UTC), False)
