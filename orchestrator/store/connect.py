"""Connections to a database file: created whole, locked while written, with clear errors."""

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection
from filelock import FileLock, Timeout

from orchestrator.errors import StoreError
from orchestrator.store.schema import create_schema

RETRY_S = 0.05
_BUSY = re.compile(r"Could not set lock|different configuration")
_HOLDER = re.compile(r"held in (.+?\(PID \d+\))")


def connect(path: Path, *, read_only: bool, wait_s: float) -> DuckDBPyConnection:
    """Open an existing database, waiting up to `wait_s` seconds for whoever holds it.

    Times are shown in UTC.

    Raises:
        StoreError: it stays locked, or it is no DuckDB file.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection = duckdb.connect(path, read_only=read_only)
            connection.execute("SET TimeZone = 'UTC'")
            return connection
        except duckdb.Error as error:
            if not _BUSY.search(str(error)):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise _in_use(path, wait_s, error) from error
        time.sleep(RETRY_S)


@contextmanager
def writer_lock(path: Path, wait_s: float) -> Iterator[None]:
    """Keep other orchestrators from writing to this database.

    Raises:
        StoreError: another one keeps it longer than `wait_s` seconds, or the folder is read-only.
    """
    lock = FileLock(f"{path}.lock", timeout=wait_s)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise _in_use(path, wait_s, _why_locked(path)) from error
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}",
            hint="choose a database in a folder of your own with `--database`",
        ) from error
    try:
        yield
    finally:
        lock.release()


def create(path: Path, *, scratch: bool) -> None:
    """Make a new database under a temporary name, then give it its own; call with the lock held.

    Raises:
        StoreError: the file system refuses.
    """
    unfinished = path.with_name(f".{path.name}.new")
    try:
        _remove(unfinished, _log_of(unfinished), _log_of(path))
        with duckdb.connect(unfinished) as connection:
            create_schema(connection, scratch=scratch)
        unfinished.replace(path)
    except (duckdb.Error, OSError) as error:
        _remove(unfinished, _log_of(unfinished))
        raise StoreError(
            f"{path}: cannot be created: {explain(error)}",
            hint="see that the folder can be written and the disk is not full",
        ) from error


def is_missing(path: Path) -> bool:
    """Whether there is no database: no file, or an empty one."""
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


@contextmanager
def explained(doing: str, hint: str) -> Iterator[None]:
    """Turn DuckDB's errors into `StoreError`s that say what was being done."""
    try:
        yield
    except duckdb.Error as error:
        raise StoreError(f"{doing}: {explain(error)}", hint=hint) from error


def explain(error: Exception) -> str:
    """An error's message without DuckDB's picture of the statement."""
    message = str(error).partition("\nLINE ")[0]
    return "\n".join(line for line in message.splitlines() if line.strip())


def _remove(*leftovers: Path) -> None:
    for leftover in leftovers:
        leftover.unlink(missing_ok=True)


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _unusable(path: Path, error: Exception) -> StoreError:
    return StoreError(
        f"{path}: not a database that DuckDB {duckdb.__version__} can open: {explain(error)}",
        hint="name another file with `--database`; the Parquet files can be merged into a new one",
    )


def _in_use(path: Path, wait_s: float, error: Exception | None) -> StoreError:
    holder = _HOLDER.search(str(error))
    by = holder[1] if holder else "another connection"
    return StoreError(
        f"{path}: still in use by {by} after waiting {wait_s:g} s",
        hint="wait for it to finish or end it, then try again; nothing was changed",
    )


def _why_locked(path: Path) -> Exception | None:
    try:
        duckdb.connect(path, read_only=True).close()
    except duckdb.Error as error:
        return error
    return None
