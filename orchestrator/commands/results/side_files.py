"""Results at a path as a database: bundles, folders, records, and tables that an export wrote."""

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa

from orchestrator.commands.exchange.merge import merge_paths
from orchestrator.exchange.bundles.check import is_bundle
from orchestrator.exchange.bundles.foreign import is_database
from orchestrator.exchange.imports.document import Document, column_names, rows_of
from orchestrator.screen.words.records import record_words
from orchestrator.store.health.exported import write_exported
from orchestrator.store.query.export import is_part, partition_values
from orchestrator.store.store import Store
from orchestrator.system.files import DATABASE_NAME, translate_os_errors
from orchestrator.system.parquet import UNREADABLE, read_schema, read_table
from runner.contract.errors import DamagedFile, NothingToDo, StoreError, UsageError
from runner.contract.files import TABLE_BYTES

ALLOWED = (
    "`last`, `last~2`, a run's id, a snapshot's name, a host's name, or the path of a bundle, a"
    " results folder, a database or a table of `orchestrator export`"
)
_TEMPORARY = "cannot be unpacked into the temporary folder"
_HINT = "free some space on its disk, or let `TMPDIR` name another folder"
_ONE_VALUE = (
    "{} holds one value a cell: a bundle, `orchestrator export --bundle FILE`, holds launches too"
)
_RECORDS_HAVE = "schema_version"
_PARQUET = ".parquet"
_AGAIN = "export it again: `orchestrator export performance --output FILE --force`"


@contextmanager
def results_at(path: Path, *, scratch: bool) -> Iterator[tuple[Store, str | None]]:
    """The results of a bundle, a folder, a record file, a database or an exported table, opened.

    Nothing of it is changed. Beside the store stands the sentence that says what the path does not
    tell, and what would; None for records.
    """
    lacks = None
    with ExitStack() as closing:
        with translate_os_errors(path, _TEMPORARY, _HINT):
            folder = closing.enter_context(TemporaryDirectory(prefix="accelmatrix-"))
        database = Path(folder, DATABASE_NAME)
        if is_bundle(path) or is_database(path):
            _merge_records(path, database, scratch=scratch)
        elif _is_table(path):
            write_exported(database, _read_table_file(path), path, record_words, scratch=scratch)
            lacks = _ONE_VALUE.format(path.name)
        elif path.is_dir() or (_is_parquet(path) and _RECORDS_HAVE in _parquet_columns(path)):
            _merge_records(path, database, scratch=scratch)
        else:
            raise UsageError(f"{path}: holds no results", hint=f"a side is {ALLOWED}")
        yield closing.enter_context(Store.open_readonly(database)), lacks


def _merge_records(path: Path, database: Path, *, scratch: bool) -> None:
    """Fill a database. What cannot be believed is refused as a whole: it would look unmeasured."""
    report = merge_paths([path], database, scratch=scratch, untouched=True)
    refused = replace(report, missing=(), contradicted=())
    if not refused.is_complete:
        raise StoreError(
            f"{path}: {refused.faults}",
            hint="`orchestrator merge` into a new `--database` takes the rest; name that one",
        )
    if report.is_empty:
        raise NothingToDo(f"{path}: holds no record", hint=f"a side is {ALLOWED}")


def _is_table(path: Path) -> bool:
    """True if this is a file or a folder of partitions as an export of tables writes it."""
    if path.is_dir():
        parts = list(path.rglob(f"*{_PARQUET}"))
        return bool(parts) and all(is_part(part.relative_to(path)) for part in parts)
    if _is_parquet(path):
        return _RECORDS_HAVE not in _parquet_columns(path)
    return path.is_file() and path.suffix.lower() in {".csv", ".json"}


def _is_parquet(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() == _PARQUET


def _parquet_columns(path: Path) -> Sequence[str]:
    try:
        names: Sequence[str] = read_schema(path.resolve(), most_bytes=TABLE_BYTES).names
        return names
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def _read_table_file(path: Path) -> pa.Table:
    """The rows of a table that an export wrote; values of CSV and JSON, and of folders, as text."""
    try:
        if path.is_dir():
            files = sorted(part for part in path.rglob(f"*{_PARQUET}") if part.is_file())
            parts = [_part(path, part) for part in files]
            table = pa.concat_tables(parts, promote_options="default")
        elif path.suffix.lower() == _PARQUET:
            table = _parquet(path, path.resolve())  # the user may name a link
        else:
            table = _document_table(Document.read(path, is_named=True), path.suffix.lower())
    except DamagedFile as damaged:
        raise StoreError(f"{path}: {damaged}", hint=_AGAIN) from damaged
    if not table.num_rows:
        raise NothingToDo(f"{path}: holds no row", hint="export more: `--all`, or without a filter")
    return table


def _part(folder: Path, part: Path) -> pa.Table:
    table = _parquet(part, part)
    for name, value in partition_values(part.relative_to(folder)).items():
        table = table.append_column(name, pa.array([value] * len(table), pa.string()))
    return table


def _parquet(path: Path, opened: Path) -> pa.Table:
    try:
        table = read_table(opened)
        table.validate(full=True)
        return table
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> StoreError:
    reason = str(error).partition("\n")[0][:300]
    return StoreError(f"{path}: truncated or not a Parquet file: {reason}", hint=_AGAIN)


def _document_table(document: Document, suffix: str) -> pa.Table:
    if document.text is None:
        raise DamagedFile("is no text in UTF-8")
    if suffix == ".csv":
        names = [name for name in column_names(document) if name]
        return _of_text(names, list(_csv_rows(document, names)))
    if document.json_fault is not None:
        raise DamagedFile(document.json_fault)
    if not isinstance(document.json, list) or not all(isinstance(r, dict) for r in document.json):
        raise DamagedFile("is not a list of objects, as an exported table is")
    names = list(dict.fromkeys(name for row in document.json for name in row))
    return _of_text(names, [[_as_text(row.get(name)) for name in names] for row in document.json])


def _csv_rows(document: Document, names: Sequence[str]) -> Iterator[list[str | None]]:
    for row in rows_of(document):
        if row.fault is not None:
            raise DamagedFile(row.fault)
        yield [row.cells[name] or None for name in names]


def _as_text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else json.dumps(value)


def _of_text(names: Sequence[str], rows: Sequence[Sequence[str | None]]) -> pa.Table:
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(names)
    return pa.table({n: pa.array(c, pa.string()) for n, c in zip(names, columns, strict=True)})
