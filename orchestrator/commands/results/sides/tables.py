"""Exported tables as files: what `orchestrator export` writes, read back within bounds."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from orchestrator.exchange.imports.document import Document, column_names, rows_of
from orchestrator.store.query.export import is_part, partition_values
from orchestrator.system.parquet import UNREADABLE, read_schema, read_table
from runner.contract.errors import DamagedFile, NothingToDo, StoreError
from runner.contract.files import TABLE_BYTES

_RECORDS_HAVE = "schema_version"
"""A column of records that no exported table has."""
_PARQUET = ".parquet"
_HINT = "export it again: `orchestrator export performance --output FILE --force`"


def is_table(path: Path) -> bool:
    """True if this is a file or a folder of partitions as an export of tables writes it."""
    if path.is_dir():
        return _holds_parts(path)
    if _is_parquet(path):
        return _RECORDS_HAVE not in _parquet_columns(path)
    return path.is_file() and path.suffix.lower() in {".csv", ".json"}


def is_record_file(path: Path) -> bool:
    """True if this is a file of records, and no exported table."""
    return _is_parquet(path) and _RECORDS_HAVE in _parquet_columns(path)


def _is_parquet(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() == _PARQUET


def _holds_parts(folder: Path) -> bool:
    """True if the folder holds parts of a table, and no other Parquet file."""
    parts = False
    for path in folder.rglob(f"*{_PARQUET}"):
        if not is_part(path.relative_to(folder)):
            return False
        parts = True
    return parts


def read_table_file(path: Path) -> pa.Table:
    """The rows of a table that an export wrote; values of CSV and JSON, and of folders, as text."""
    try:
        table = _read(path)
    except DamagedFile as damaged:
        raise StoreError(f"{path}: {damaged}", hint=_HINT) from damaged
    if not table.num_rows:
        raise NothingToDo(f"{path}: holds no row", hint="export more: `--all`, or without a filter")
    return table


def _read(path: Path) -> pa.Table:
    if path.is_dir():
        tables = [_part(path, part) for part in _parts(path)]
        return pa.concat_tables(tables, promote_options="default")
    if path.suffix.lower() == _PARQUET:
        return _parquet(path, is_named=True)
    document = Document.read(path, is_named=True)
    if document.text is None:
        raise DamagedFile("is no text in UTF-8")
    if path.suffix.lower() == ".csv":
        return _csv(document)
    return _json(document)


def _parts(folder: Path) -> Sequence[Path]:
    return sorted(path for path in folder.rglob(f"*{_PARQUET}") if path.is_file())


def _part(folder: Path, part: Path) -> pa.Table:
    table = _parquet(part)
    for name, value in partition_values(part.relative_to(folder)).items():
        table = table.append_column(name, pa.array([value] * len(table), pa.string()))
    return table


def _parquet_columns(path: Path) -> Sequence[str]:
    try:
        names: Sequence[str] = read_schema(path.resolve(), most_bytes=TABLE_BYTES).names
        return names
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def _parquet(path: Path, *, is_named: bool = False) -> pa.Table:
    """The rows of a Parquet file; if the user named it, it may be a link."""
    opened = path.resolve() if is_named else path
    try:
        table = read_table(opened)
        table.validate(full=True)
        return table
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> StoreError:
    reason = str(error).partition("\n")[0][:300]
    return StoreError(f"{path}: truncated or not a Parquet file: {reason}", hint=_HINT)


def _csv(document: Document) -> pa.Table:
    names = [name for name in column_names(document) if name]
    rows = []
    for row in rows_of(document):
        if row.fault is not None:
            raise DamagedFile(row.fault)
        rows.append([row.cells[name] or None for name in names])
    return _of_text(names, rows)


def _json(document: Document) -> pa.Table:
    if document.json_fault is not None:
        raise DamagedFile(document.json_fault)
    if not isinstance(document.json, list) or not all(isinstance(r, dict) for r in document.json):
        raise DamagedFile("is not a list of objects, as an exported table is")
    names = list(dict.fromkeys(name for row in document.json for name in row))
    return _of_text(names, [[_as_text(row.get(name)) for name in names] for row in document.json])


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _of_text(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, columns, strict=True)})
