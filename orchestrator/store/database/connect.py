"""The database file: paths beside it, its lock, and connections, with DuckDB's errors as ours."""

import json
import re
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.system.files import REMEDY, file_hint
from orchestrator.system.memory import spill_folder
from orchestrator.system.text import parse_size
from runner.contract.errors import DamagedFile, StoreError


def wal_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def lock_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.lock")


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in (path, wal_path(path)) if file.exists())


def delete_database(path: Path) -> None:
    for file in (path, wal_path(path)):
        file.unlink(missing_ok=True)


def is_missing(path: Path) -> bool:
    """True if there is no database: no file, or an empty one."""
    refuse_dangling_link(path)
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def require_database(path: Path) -> None:
    if is_missing(path):
        raise StoreError(
            f"{path.absolute()}: there is no database yet",
            hint="measure something first: `orchestrator bench --model bert-tiny`; or name another"
            " folder with `--results`, or a file with `--database`",
        )


def refuse_dangling_link(path: Path) -> None:
    """Refuse a link to nowhere: no new database replaces one that is not mounted."""
    if path.is_symlink() and not path.exists():
        raise StoreError(
            f"{path}: a link to {path.readlink()}, where nothing is",
            hint="mount or restore what it leads to, or remove the link",
        )


WAIT_S = 30.0
_HOLDER = re.compile(r"held in (.+?\(PID \d+\))")


@contextmanager
def writer_lock(path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Keep other orchestrators from writing to this database."""
    from filelock import FileLock, Timeout

    refuse_dangling_link(path)
    path = path.resolve()
    lock = FileLock(lock_path(path), timeout=wait_s)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        held: Exception = error
        try:
            duckdb.connect(path, read_only=True).close()
        except duckdb.Error as refusal:
            held = refusal
        raise _in_use_error(path, wait_s, held) from error
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}",
            hint=file_hint(error, f"{REMEDY} with `--database`"),
        ) from error
    try:
        yield
    finally:
        lock.release()


def _in_use_error(path: Path, wait_s: float, error: Exception) -> StoreError:
    """The error for a locked database; DuckDB's own error names the process that holds it."""
    holder = _HOLDER.search(str(error))
    by = holder[1] if holder else "another connection"
    return StoreError(
        f"{path}: still in use by {by} after waiting {wait_s:g} s",
        hint="wait for it to finish or end it, then try again; nothing was changed",
    )


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
    """Turn DuckDB's errors into `StoreError`s that say what was being done; see `file_hint`."""
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

    Readers are in a sandbox: they change nothing and reach no other file, and of their settings the
    limit of memory alone can be changed.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            return _open(path.absolute(), read_only=read_only)  # not `:memory:`
        except duckdb.Error as error:
            if not _BUSY.search(str(error)):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise _in_use_error(path, wait_s, error) from error
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
            elif not scalar(connection, "SELECT current_setting('lock_configuration')"):
                connection.execute(_UTC + _sandbox())
        except BaseException:
            connection.close()
            raise
        return connection


_UTC = "SET GLOBAL TimeZone = 'UTC';"
QUESTION_MEMORY_SHARE = 0.25
"""Share of memory that questions may take if nothing else is said: measurements need the rest."""
_SPILL_SHARE = 0.5


def _sandbox() -> str:
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
    """Limit this process's readers of the file, by default to a share of memory; returns bytes."""
    limit = f"{QUESTION_MEMORY_SHARE:.0%}" if memory_bytes is None else f"{memory_bytes}B"
    connection.execute(f"SET GLOBAL memory_limit = '{limit}'")
    return parse_size(scalar(connection, "SELECT current_setting('memory_limit')"))


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
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise


def fetch(connection: DuckDBPyConnection, sql: str, *parameters: object) -> "list[Row]":
    """The rows of a SELECT, without Arrow, which loads numpy."""
    answer = connection.execute(sql, parameters)
    names = [column[0] for column in answer.description]
    return [dict(zip(names, row, strict=True)) for row in answer.fetchall()]


def scalar(connection: DuckDBPyConnection, sql: str, *parameters: object) -> Any:
    """The one value that a SELECT answers."""
    ((value,),) = connection.execute(sql, parameters).fetchall()
    return value


def has_rows(connection: DuckDBPyConnection, relation: str) -> bool:
    return bool(connection.execute(f"SELECT 1 FROM {relation} LIMIT 1").fetchall())


def count_rows(connection: DuckDBPyConnection, database: str | None = None) -> dict[str, int]:
    """Rows by table of an attached database, or of the one that was opened."""
    tables = connection.execute(
        "SELECT table_name AS name, database_name || '.' || table_name FROM duckdb_tables()"
        " WHERE database_name = coalesce(?, current_database()) ORDER BY name",
        [database],
    ).fetchall()
    return {name: scalar(connection, f"SELECT count(*) FROM {path}") for name, path in tables}
