"""Writes synthetic results as record files, each whole or not at all."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.connect import duckdb_message
from orchestrator.store.schema.parquet_columns import DEFAULTS
from orchestrator.store.schema.tables import ORIGIN, RECORD
from orchestrator.system.threads import InterruptibleThread
from performance.synthetic.cells import cells
from performance.synthetic.draw import CELLS_A_RUN, drawn
from performance.synthetic.laboratory import HOSTS, Row, hosts, releases
from performance.synthetic.parts import PARTS
from performance.synthetic.values import VALUES
from runner.contract.errors import StoreError

ROWS_A_FILE = 2 * 122_880
"""Two of the pieces in which DuckDB shares work among threads."""
ROWS_A_GROUP = 20_480
REORDERING = "join_order,build_side_probe_side"
"""Optimizers that would let a join decide in which order rows are written."""


def synthesise(folder: Path, rows: int, seed: int, *, first: int = 0) -> Iterator[tuple[Path, int]]:
    """Write that many results into a new folder, from the `first` that the seed makes on.

    Yields each file once it is whole, with the number of rows that are written so far. Nothing
    unfinished stays, whatever ends it.
    """
    _prepare(folder)
    with duckdb.connect() as connection:
        connection.execute(f"SET TimeZone = 'UTC'; SET disabled_optimizers = '{REORDERING}'")
        number_of_cells = _furnish(connection, first + rows, seed)
        for start in range(first, first + rows, ROWS_A_FILE):
            end = min(start + ROWS_A_FILE, first + rows)
            path = folder / f"synthetic-{seed}-{start:010}.parquet"
            _write(connection, _records(drawn(start, end, number_of_cells, seed)), path)
            yield path, end - first


def _prepare(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        occupied = any(folder.iterdir())
    except OSError as error:
        raise StoreError(
            f"{folder}: cannot be written: {error.strerror}", hint="name a folder of your own"
        ) from error
    if occupied:
        raise StoreError(
            f"{folder}: is not empty, and synthetic results lie alone",
            hint="name a new folder with `--output`",
        )


def _furnish(connection: DuckDBPyConnection, last: int, seed: int) -> int:
    """Make the tables that are drawn from; returns how many cells there are."""
    known = cells()
    visits = last // (CELLS_A_RUN * HOSTS) + 1
    furniture: dict[str, list[Row]] = {
        "cells": known,
        "hosts": list(hosts()),
        "releases": list(releases(visits, seed)),
    }
    for name, content in furniture.items():
        connection.register("content", _arrow(content))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM content")
        connection.unregister("content")
    return len(known)


def _arrow(rows: list[Row]) -> pa.Table:
    """A table in which dicts are maps."""
    table = pa.Table.from_pylist(rows)
    maps = [name for name, value in rows[0].items() if isinstance(value, dict)]
    for name in maps:
        index = table.column_names.index(name)
        pairs = [list(row[name].items()) for row in rows]
        column = pa.array(pairs, pa.map_(pa.string(), pa.string()))
        table = table.set_column(index, name, column)
    return table


def _records(query: str) -> str:
    columns = ", ".join(
        f"({VALUES.get(column.name, DEFAULTS.get(column.name, 'NULL'))})::{column.type}"
        f" AS {column.name}"
        for column in (*RECORD, *ORIGIN)
    )
    return f"SELECT {columns} FROM (SELECT *, {PARTS} AS parts FROM ({query}))"


def _write(connection: DuckDBPyConnection, query: str, path: Path) -> None:
    unfinished = path.with_suffix(".tmp")
    try:
        copy = (
            f"COPY ({query}) TO {text(str(unfinished))}"
            f" (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {ROWS_A_GROUP})"
        )
        with InterruptibleThread(connection.interrupt) as thread:
            thread.wait_for(lambda: connection.execute(copy))
        unfinished.replace(path)
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"{path}: cannot be written: {duckdb_message(error)}",
            hint="see that the disk is not full; what is whole can be used",
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
