"""Somebody else's database: attached to an empty one, and nothing but its plain tables is read.

Such a file is not trusted. Views, macros and columns that compute themselves are SQL of whoever
wrote it: none of them is executed, since every name in our questions means an object of the empty
database, and each table is looked at before it is read. The file is never written. Call it in a
process with limits: DuckDB itself reads the bytes.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.connect import duckdb_message, scalar, wal_path
from orchestrator.store.query.whole_runs import BundleRows, stored_runs
from orchestrator.store.schema.tables import KEPT_HERE, STORE_VERSION, TABLES, VERSION, Table
from runner.contract.errors import StoreError

_THEIRS = "theirs"
"""The name under which their database is attached."""
_BUSY = re.compile(r"Could not set lock")
_BUNDLE_HINT = "ask its owner for a bundle: `orchestrator export --bundle FILE`"
_COLUMNS = """
    SELECT table_name, column_name, data_type, column_default
    FROM duckdb_columns() JOIN duckdb_tables() USING (database_name, schema_name, table_name)
    WHERE database_name = ? AND schema_name = 'main'
"""
"""Columns of tables alone; what computes itself has a default, as none of ours has."""
_WITHOUT_RUN = """
    SELECT count(*) FROM benchmark_results WHERE run_id NOT IN (SELECT run_id FROM benchmark_runs)
"""


_TableColumns = dict[str, dict[str, tuple[str, str | None]]]


@contextmanager
def foreign_rows(path: Path, memory_bytes: int, spill: Path) -> Iterator[BundleRows]:
    """All runs of a database that anybody may have written."""
    with duckdb.connect() as connection:
        _attach(connection, path, memory_bytes, spill)
        columns: _TableColumns = defaultdict(dict)
        for table_name, column, type_, default in connection.execute(
            _COLUMNS, [_THEIRS]
        ).fetchall():
            columns[table_name][column] = (type_, default)
        _require_schema(connection, columns, path)
        for table in TABLES:
            if table not in KEPT_HERE:
                _require_plain(connection, table, columns, path)
                connection.execute(  # under its name, which nothing else of that database has
                    f"CREATE TEMP VIEW {table.name} AS"
                    f" SELECT {table.names} FROM {_THEIRS}.main.{table.name}"
                )
        if without_run := scalar(connection, _WITHOUT_RUN):
            raise StoreError(
                f"{path}: {without_run:,} of its results are of no run that it knows",
                hint="its owner can mend that: `orchestrator database check --fix`",
            )
        scratch = bool(scalar(connection, "SELECT scratch FROM schema_version"))
        runs = stored_runs(connection)
        yield BundleRows([runs[name] for name in sorted(runs)], scratch, connection)


def _attach(connection: DuckDBPyConnection, path: Path, memory_bytes: int, spill: Path) -> None:
    """Attach the file read-only, on a connection that reaches no other."""
    absolute = path.resolve()
    allowed = ", ".join(text(str(name)) for name in (absolute, wal_path(absolute)))
    connection.execute(f"""
        SET TimeZone = 'UTC';
        SET autoload_known_extensions = false;
        SET autoinstall_known_extensions = false;
        SET python_enable_replacements = false;
        SET memory_limit = '{memory_bytes}B';
        SET temp_directory = {text(str(spill))};
        SET allowed_paths = [{allowed}];
        SET enable_external_access = false;
    """)
    try:
        connection.execute(f"ATTACH {text(str(absolute))} AS {_THEIRS} (READ_ONLY)")
    except duckdb.Error as error:
        if _BUSY.search(str(error)):
            raise StoreError(
                f"{path}: is being written by another process",
                hint="wait until that is finished, then merge again; nothing was merged",
            ) from error
        raise StoreError(
            f"{path}: not a database that DuckDB {duckdb.__version__} can open:"
            f" {duckdb_message(error)}",
            hint=_BUNDLE_HINT,
        ) from error
    connection.execute("SET lock_configuration = true")


def _require_schema(connection: DuckDBPyConnection, columns: _TableColumns, path: Path) -> None:
    if {"version", "scratch"} - columns.get(VERSION.name, {}).keys():
        raise StoreError(
            f"{path}: a DuckDB database, but not one of AccelMatrix",
            hint="`orchestrator import` takes what other benchmarks wrote as CSV or JSON",
        )
    _require_plain(connection, replace(VERSION, columns=VERSION.columns[:2]), columns, path)
    sql = f"SELECT version FROM {_THEIRS}.main.schema_version"
    versions = [number for (number,) in connection.execute(sql).fetchmany(2)]
    if len(versions) != 1:
        raise StoreError(f"{path}: does not say which schema it has", hint=_BUNDLE_HINT)
    if versions[0] != STORE_VERSION:
        raise StoreError(
            f"{path}: has schema {versions[0]}, and this AccelMatrix works with {STORE_VERSION}",
            hint="install the newer AccelMatrix that wrote it"
            if versions[0] > STORE_VERSION
            else "its owner can make it anew: `orchestrator database rebuild`",
        )


def _require_plain(
    connection: DuckDBPyConnection, table: Table, columns: _TableColumns, path: Path
) -> None:
    known = columns.get(table.name)
    if known is None:
        raise StoreError(f"{path}: has no table {table.name}", hint=_BUNDLE_HINT)
    for column in table.columns:
        type_, default = known.get(column.name, (None, None))
        if type_ != str(connection.sqltype(column.type)):
            fault = "is missing" if type_ is None else f"is {type_}, not {column.type}"
        elif default is not None:
            fault = "computes itself"
        else:
            continue
        raise StoreError(
            f"{path}: was altered: the column {column.name} of {table.name} {fault}",
            hint=_BUNDLE_HINT,
        )
