"""The first half of a merge: record files are read and validated, and damaged ones set aside."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.records.find import ID_COLUMNS, is_path
from orchestrator.store.records.validate import (
    ORIGIN_COLUMNS,
    Damaged,
    OtherSchema,
    check_pages,
    read_validated,
    require_columns,
    require_whole,
    unreadable,
)
from orchestrator.store.schema.parquet_columns import (
    DEFAULTS,
    FALSE_ID,
    NULL_IF_MISSING,
    TABLE_OF_ROWS,
    rows_query,
)
from orchestrator.store.schema.tables import OURS, RECORD, REQUIRED, SqlColumn
from orchestrator.system.parquet import UNREADABLE, CheckInterrupt, Read, read_tables
from runner.contract.errors import DamagedFile
from runner.contract.record.record import SCHEMA_VERSION

SMALL_FILE_BYTES = 1_000_000
"""Files that are smaller on average are read once into memory; opening them costs more."""
FILES_AT_ONCE = 60
BYTES_AT_ONCE = 64 << 20
"""Small files are held in memory, packed: so many at a time, or so many bytes."""
_FIRST, _LAST = (f"TIMESTAMPTZ '{day} 00:00:00+00'" for day in ("0001-01-02", "9999-12-31"))
"""The times that Python knows, wherever on earth."""


@dataclass(frozen=True)
class Staged:
    """The files whose rows are not in `incoming`, and the columns of those that are."""

    damaged: list[Damaged]
    columns: frozenset[str]
    """The columns that a sound file has; all others are null, or have their default."""


def stage(
    connection: DuckDBPyConnection,
    files: Sequence[Path],
    check_interrupt: CheckInterrupt = lambda: None,
) -> Staged:
    """Make the temporary table `incoming` of the rows of all sound files."""
    unstage(connection)
    connection.execute(f"CREATE TEMP TABLE incoming ({TABLE_OF_ROWS})")
    copy = _copy_small if are_small(files) else _copy_large
    columns: set[str] = {*DEFAULTS}
    damaged = copy(connection, files, columns, check_interrupt)
    find_unsound = _find_unsound(frozenset(columns))
    unsound = [name for (name,) in connection.execute(find_unsound).fetchall()]
    if unsound:
        names = ", ".join(map(text, unsound))
        connection.execute(f"DELETE FROM incoming WHERE filename IN ({names})")
    for path in map(Path, unsound):
        try:
            read_validated(path)
            damaged.append(Damaged(path, "its rows are none that a record may have"))
        except DamagedFile as error:
            is_other = isinstance(error, OtherSchema)
            damaged.append(Damaged(path, str(error), other_schema=is_other))
    return Staged(sorted(damaged, key=lambda file: file.path), frozenset(columns))


def unstage(connection: DuckDBPyConnection) -> None:
    connection.execute("DROP TABLE IF EXISTS temp.incoming")


def leave_out(connection: DuckDBPyConnection, rows: str) -> None:
    """Take the rows that a table names by file and number out of `incoming`."""
    connection.execute(
        f"DELETE FROM incoming USING {rows} o WHERE incoming.filename = o.filename"
        " AND incoming.file_row_number = o.file_row_number"
    )


@contextmanager
def registered(connection: DuckDBPyConnection, name: str, rows: Any) -> Iterator[None]:
    connection.register(name, rows)
    try:
        yield
    finally:
        connection.unregister(name)


def are_small(files: Sequence[Path]) -> bool:
    """True if the number of these files matters, and not their size."""
    sizes = (path.stat().st_size for path in files if path.exists())
    return sum(sizes) <= SMALL_FILE_BYTES * len(files)


def _copy_small(
    connection: DuckDBPyConnection,
    files: Sequence[Path],
    columns: set[str],
    check_interrupt: CheckInterrupt,
) -> list[Damaged]:
    """Insert the rows of small files, those with the same columns together, and note these."""
    damaged: list[Damaged] = []
    batch: list[Read] = []
    for read in read_tables(files, check_interrupt=check_interrupt):
        if read.fault is not None:
            damaged.append(Damaged(read.path, str(unreadable(read.fault))))
        else:
            batch.append(read)
        size = sum(len(read.content) for read in batch)
        if len(batch) >= FILES_AT_ONCE or size > BYTES_AT_ONCE:
            damaged += _insert(connection, batch, columns)
            batch = []
    return damaged + _insert(connection, batch, columns)


def _insert(
    connection: DuckDBPyConnection, batch: Iterable[Read], columns: set[str]
) -> list[Damaged]:
    """Insert the rows of small files together: a statement for each takes longer than reading.

    Those that lack no more than what is null where it is missing go into one statement. Returns
    the files that turned out to be damaged.
    """
    damaged: list[Damaged] = []
    groups_of_files: dict[tuple[str, ...], dict[Path, pa.Table]] = defaultdict(dict)
    for read in batch:
        required = tuple(name for name in read.columns if name not in NULL_IF_MISSING)
        groups_of_files[required][read.path] = read.table().replace_schema_metadata()
    for tables in groups_of_files.values():
        try:
            groups = [_checked(tables)]
        except UNREADABLE:
            damaged += _remove_damaged(tables)
            groups = [_checked(alike) for alike in _by_schema(tables)]
        for rows in groups:
            names = {*rows.column_names} - {*ORIGIN_COLUMNS}
            columns |= names
            query = rows_query(names, "read_rows")
            with registered(connection, "read_rows", rows):
                connection.execute(f"INSERT INTO incoming BY NAME {query}")
    return damaged


def _by_schema(tables: Mapping[Path, pa.Table]) -> Iterable[Mapping[Path, pa.Table]]:
    groups: list[tuple[pa.Schema, dict[Path, pa.Table]]] = []
    for path, table in tables.items():
        group = next((rows for schema, rows in groups if schema.equals(table.schema)), None)
        if group is None:
            groups.append((table.schema, group := {}))
        group[path] = table
    return [rows for _, rows in groups]


def _remove_damaged(tables: dict[Path, pa.Table]) -> list[Damaged]:
    damaged = []
    for path, table in list(tables.items()):
        try:
            require_columns(table.schema)
            require_whole(table)
        except DamagedFile as error:
            damaged.append(Damaged(path, str(error)))
            del tables[path]
    return damaged


def _checked(tables: Mapping[Path, pa.Table]) -> pa.Table:
    """The rows of all files, each with its file and its number in it."""
    names = [str(path) for path, table in tables.items() for _ in range(len(table))]
    numbers = [number for table in tables.values() for number in range(len(table))]
    columns = (pa.array(names, pa.string()), pa.array(numbers, pa.int64()))
    rows = pa.concat_tables(tables.values(), promote_options="default").combine_chunks()
    require_columns(rows.schema)
    require_whole(rows)
    for name, column in zip(ORIGIN_COLUMNS, columns, strict=True):
        rows = rows.append_column(name, column)
    return rows


def _copy_large(
    connection: DuckDBPyConnection,
    files: Sequence[Path],
    columns: set[str],
    check_interrupt: CheckInterrupt,
) -> list[Damaged]:
    damaged: list[Damaged] = []
    for path in files:
        try:
            names = check_pages(path, check_interrupt)
        except DamagedFile as error:
            damaged.append(Damaged(path, str(error)))
            continue
        columns |= {*names}
        located = (
            f"(SELECT *, {text(str(path))} AS filename,"
            " row_number() OVER () - 1 AS file_row_number FROM read_rows)"
        )
        with registered(connection, "read_rows", _dataset(path)):
            connection.execute(f"INSERT INTO incoming BY NAME {rows_query(names, located)}")
    return damaged


def _dataset(path: Path) -> Any:
    import pyarrow.dataset as ds  # loads pandas where there is one
    from pyarrow.fs import LocalFileSystem

    pieces = ds.ParquetFragmentScanOptions(pre_buffer=False)
    form = ds.ParquetFileFormat(default_fragment_scan_options=pieces)
    return ds.dataset([str(path)], format=form, filesystem=LocalFileSystem())


def _impossible(column: SqlColumn, columns: Collection[str]) -> Iterator[str]:
    """The conditions under which a value is none that a record of these columns may have."""
    ours = "" if column.name in REQUIRED else f" AND source = '{OURS}'"
    if not column.nullable:
        yield f"{column.name} IS NULL{ours}"
    if column.name not in columns:
        return
    if column.allowed:
        allowed = ", ".join(map(text, column.allowed))
        yield f"{column.name} NOT IN ({allowed}){ours}"
    if column.type == "TIMESTAMPTZ":
        yield f"{column.name} NOT BETWEEN {_FIRST} AND {_LAST}"


@cache
def _find_unsound(columns: frozenset[str]) -> str:
    """Ask for files with rows that no record may have; a filter takes twice as long to plan."""
    faults = " OR ".join(
        [
            f"schema_version <> {SCHEMA_VERSION}",
            *(fault for column in RECORD for fault in _impossible(column, columns)),
            *map(is_path, ID_COLUMNS),
            FALSE_ID,
        ]
    )
    return f"""
        SELECT filename FROM incoming GROUP BY filename HAVING bool_or({faults}) ORDER BY filename
    """
