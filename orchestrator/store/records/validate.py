"""Read record files that may be damaged: pages by their checksums, then columns, then rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pydantic import ValidationError

from orchestrator.store.records.find import id_fault
from orchestrator.store.schema.parquet_columns import WORD_NAMES
from orchestrator.store.schema.sources import Origin
from orchestrator.store.schema.tables import OURS, REQUIRED
from orchestrator.system.parquet import UNREADABLE, CheckInterrupt, check_rows, read_table
from runner.contract.errors import DamagedFile, RecordError
from runner.contract.files import RECORD_BYTES
from runner.contract.record.files import arrow_schema, record_of, rows
from runner.contract.record.ids import false_id
from runner.contract.record.record import SCHEMA_VERSION, Record, Row

ORIGIN_COLUMNS = ("filename", "file_row_number")
"""Names that a merge adds to the columns of a file."""
REASON_LETTERS = 300
"""Letters of a reason; a damaged name may have any number of them."""
_EXPECTED = {field.name: field.type for field in (*arrow_schema(), *arrow_schema(Origin))}
_NEEDED = [name for name, info in Record.model_fields.items() if info.is_required()]
"""Columns that every record of ours has."""


@dataclass(frozen=True)
class Damaged:
    """A file that could not be merged, or some of its records."""

    path: Path
    reason: str
    records: int | None = None
    """Records of it that were left out while others were merged; None: the whole file."""
    other_schema: bool = False
    """True if it may be sound, and only has another schema: it stays where it is."""


class OtherSchema(DamagedFile):
    """A file with records of another schema."""


def read_record(path: Path) -> Record:
    try:
        (row,) = rows(read_table(path, most_bytes=RECORD_BYTES))
        return record_of(row)
    except OSError:
        raise
    except UNREADABLE as error:
        summary = str(error).partition("\n")[0]
        raise RecordError(f"{path}: not a whole record file: {summary}") from error


def read_validated(path: Path) -> pa.Table:
    table = read_records(path)
    has_schema = "schema_version" in table.column_names
    schemas = table["schema_version"].to_pylist() if has_schema else [None]
    if others := {*schemas} - {SCHEMA_VERSION}:
        raise OtherSchema(
            f"records of schema {max(others, key=str)}, and this AccelMatrix takes those of"
            f" {SCHEMA_VERSION}: measure again"
        )
    with _unreadable_as_damaged():
        if fault := next(filter(None, map(_row_fault, rows(table))), None):
            raise DamagedFile(one_line(fault))
    return table


def file_fault(path: Path) -> str | None:
    """The reason why a file cannot be merged; None if it can."""
    try:
        read_validated(path)
    except DamagedFile as damaged:
        return str(damaged)
    return None


def read_records(path: Path) -> pa.Table:
    """The rows of a file with the columns of records; nobody has looked at their values."""
    with _unreadable_as_damaged():
        table = read_table(path)
    require_whole(table)
    require_columns(table.schema)
    return table


def require_whole(table: pa.Table) -> None:
    """Insist on rows that Arrow finds sound: lengths, offsets, text in UTF-8."""
    with _unreadable_as_damaged():
        table.validate(full=True)


def require_columns(schema: pa.Schema) -> None:
    with _unreadable_as_damaged():
        if fault := _column_fault(schema):
            raise DamagedFile(one_line(fault))


def check_pages(path: Path, check_interrupt: CheckInterrupt) -> list[str]:
    with _unreadable_as_damaged():
        schema = check_rows(path, check_interrupt)
    require_columns(schema)
    return list(schema.names)


@contextmanager
def _unreadable_as_damaged() -> Iterator[None]:
    try:
        yield
    except DamagedFile:
        raise
    except UNREADABLE as error:
        raise unreadable(error) from error


def _column_fault(schema: pa.Schema) -> str | None:
    types = {field.name: field.type for field in schema}
    if "cell_id" not in types:
        return "a Parquet file, but not of AccelMatrix: it has no column cell_id"
    for name, type_ in _EXPECTED.items():
        if types.get(name, type_) != type_:
            return f"column {name} holds {types[name]}, not {type_}"
    if unknown := sorted(types.keys() - _EXPECTED.keys() - WORD_NAMES):
        return f"has columns that no record has: {unknown}"
    if len(types) < len(schema):
        return "has several columns of the same name"
    needed = REQUIRED if "source" in types else _NEEDED
    lacking = sorted(set(needed) - types.keys())
    return f"lacks the columns {lacking}" if lacking else None


def _row_fault(row: Row) -> str | None:
    if row.get("source", OURS) != OURS:
        lacking = [name for name in REQUIRED if row.get(name) is None]
        return f"{lacking[0]}: is null" if lacking else id_fault(row)
    try:
        record_of(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        location = ".".join(str(part) for part in first["loc"])
        return f"{location}: {first['input']!r}: {first['msg']}"
    return id_fault(row) or false_id(row)


def unreadable(error: Exception) -> DamagedFile:
    if isinstance(error, DamagedFile):
        return error
    return DamagedFile(one_line(f"truncated or not a Parquet file: {error}"))


def one_line(text: str) -> str:
    """The first line of a reason, cut if it is endless."""
    line = text.partition("\n")[0]
    return line if len(line) <= REASON_LETTERS else f"{line[:REASON_LETTERS]}…"
