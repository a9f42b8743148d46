"""Connections to the database: opened, readers in a sandbox, DuckDB's errors as StoreErrors."""

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.lock import in_use_error
from orchestrator.system.files import file_hint
from orchestrator.system.spill_folder import spill_folder
from orchestrator.system.text import parse_size
from runner.contract.errors import DamagedFile, StoreError

if TYPE_CHECKING:
    from runner.contract.record.record import Row

_INTERRUPTED = "Query interrupted"


@contextmanager
def interruptible() -> Iterator[None]:
    """Raise KeyboardInterrupt where DuckDB makes a RuntimeError of Ctrl-C."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


@contextmanager
def store_errors(doing: str, hint: str) -> Iterator[None]:
    """Turn DuckDB's errors into `StoreError`s that say what was being done.

    `REMEDY` in the hint stands for what helps against an error of the file system.
    """
    with interruptible():
        try:
            yield
        except duckdb.Error as error:
            message = f"{doing}: {duckdb_message(error)}"
            raise StoreError(message, hint=file_hint(error, hint)) from error


_MESSAGE_LETTERS = 600
"""DuckDB quotes long values and statements in full."""


def duckdb_message(error: Exception) -> str:
    """An error's message without DuckDB's picture of the statement, and no longer than needed."""
    message = _of_a_thread(str(error)).partition("\nLINE ")[0]
    lines = "\n".join(line for line in message.splitlines() if line.strip())
    return lines if len(lines) <= _MESSAGE_LETTERS else f"{lines[:_MESSAGE_LETTERS]}…"


def _of_a_thread(message: str) -> str:
    """The message of an error of one of DuckDB's threads, which is JSON inside of another error."""
    start = message.find('{"exception_type"')
    if start < 0:
        return message
    try:
        error = json.loads(message[start:])
        return f"{error['exception_type']} Error: {error['exception_message']}"
    except (ValueError, KeyError):
        return message


_RETRY_S = 0.05
_BUSY = re.compile(r"Could not set lock|different configuration")
_A_TABLE = "Cannot launch in-memory database"
"""DuckDB's message for a file that is no database, but named like one that it reads as a table."""
_REFUSED = re.compile(r"Permission denied|Read-only file system")


def connect(path: Path, *, read_only: bool, wait_s: float) -> DuckDBPyConnection:
    """Open an existing database, waiting up to `wait_s` seconds for its lock.

    Times are shown in UTC. Readers are in a sandbox: they change nothing and reach no other file,
    and of their settings the limit of memory alone can be changed.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return _open(path.absolute(), read_only=read_only)  # not `:memory:`
        except duckdb.Error as error:
            if not _BUSY.search(str(error)):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise in_use_error(path, wait_s, error) from error
        time.sleep(_RETRY_S)


_OPENING = threading.Lock()
"""Settings are those of all this process's connections to a file: who opens it finds them made, or
makes them before another can ask."""


def _open(path: Path, *, read_only: bool) -> DuckDBPyConnection:
    with _OPENING:
        connection = duckdb.connect(path, read_only=read_only)
        try:
            if not read_only:
                connection.execute(_UTC)
            elif not _is_sandboxed(connection):
                connection.execute(_UTC + _sandbox())
        except BaseException:
            connection.close()
            raise
        return connection


def _is_sandboxed(connection: DuckDBPyConnection) -> bool:
    ((is_locked,),) = connection.execute("SELECT current_setting('lock_configuration')").fetchall()
    return bool(is_locked)


_UTC = "SET GLOBAL TimeZone = 'UTC';"
QUESTION_MEMORY_SHARE = 0.25
"""Share of memory that questions may take if nothing else is said: measurements need the rest."""
_SPILL_SHARE = 0.5
"""Share of the free space of the temporary folder that questions may take."""


def _sandbox() -> str:
    """Statements that limit all readers of a file in this process, until the last is closed."""
    folder = spill_folder()
    free = int(_SPILL_SHARE * shutil.disk_usage(folder).free) if folder else 0
    return f"""
        SET GLOBAL temp_directory = {text(str(folder / "spill") if folder else "")};
        SET GLOBAL max_temp_directory_size = '{free}B';
        SET GLOBAL memory_limit = '{QUESTION_MEMORY_SHARE:.0%}';
        SET GLOBAL python_enable_replacements = false;
        SET GLOBAL enable_external_access = false;
        SET GLOBAL allowed_configs = ['memory_limit'];
        SET GLOBAL lock_configuration = true;
    """


def limit_memory(connection: DuckDBPyConnection, memory_bytes: int | None) -> int:
    """Limit the memory of all of this process's readers of the file; returns the limit in bytes.

    None is the default share of this machine's memory.
    """
    limit = f"{QUESTION_MEMORY_SHARE:.0%}" if memory_bytes is None else f"{memory_bytes}B"
    connection.execute(f"SET GLOBAL memory_limit = '{limit}'")
    ((formatted,),) = connection.execute("SELECT current_setting('memory_limit')").fetchall()
    return parse_size(formatted)


def _unusable(path: Path, error: Exception) -> StoreError:
    if refused := _REFUSED.search(str(error)):
        return StoreError(
            f"{path}: cannot be opened: {refused[0]}",
            hint="copy it to a folder of your own, or name another file with `--database`",
        )
    is_foreign = _A_TABLE in str(error)
    reason = "its header is not that of a DuckDB file" if is_foreign else duckdb_message(error)
    return DamagedFile(
        f"{path}: not a database that DuckDB {duckdb.__version__} can open: {reason}",
        hint="name another file with `--database`; the Parquet files can be merged into a new one",
    )


@contextmanager
def transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    """Commit the statements within together, or undo them."""
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise


_MOMENT = "TIMESTAMP WITH TIME ZONE"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fetch(connection: DuckDBPyConnection, sql: str, *parameters: object) -> "list[Row]":
    """The rows that a SELECT answers.

    Arrow would load numpy; and without pytz DuckDB gives no moments, which thus come as numbers.
    """
    relation = connection.sql(sql, params=list(parameters))
    names = relation.columns
    moments = {at for at, type_ in enumerate(relation.types) if str(type_) == _MOMENT}
    if moments:
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        for at in moments:
            quoted[at] = f"epoch_us({quoted[at]})"
        relation = relation.project(", ".join(quoted))
    return [
        {
            name: _moment(value) if at in moments else value
            for at, (name, value) in enumerate(zip(names, row, strict=True))
        }
        for row in relation.fetchall()
    ]


def _moment(microseconds: Any) -> datetime | None:
    return None if microseconds is None else _EPOCH + timedelta(microseconds=microseconds)


def count_rows(connection: DuckDBPyConnection, database: str | None = None) -> dict[str, int]:
    """Rows by table of an attached database, or of the one that was opened."""
    tables = fetch(
        connection,
        "SELECT database_name || '.' || table_name AS path, table_name AS name"
        " FROM duckdb_tables() WHERE database_name = coalesce(?, current_database()) ORDER BY name",
        database,
    )
    return {
        table["name"]: fetch(connection, f"SELECT count(*) AS rows FROM {table['path']}")[0]["rows"]
        for table in tables
    }
