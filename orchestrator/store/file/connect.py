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
from orchestrator.store.schema.making import create_schema

WAIT_S = 10.0
"""How long whoever holds a database is waited for, unless somebody says otherwise, seconds."""
RETRY_S = 0.05
_BUSY = re.compile(r"Could not set lock|different configuration")
_HOLDER = re.compile(r"held in (.+?\(PID \d+\))")
_INTERRUPTED = "Query interrupted"
_REFUSED = re.compile(r"Permission denied|Read-only file system")


class NotADatabase(StoreError):
    """A file that DuckDB cannot open: damaged, foreign, or of a newer DuckDB."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C be what it is, since DuckDB makes an error of it."""
    try:
        yield
    except RuntimeError as error:
        if str(error) != _INTERRUPTED:
            raise
        raise KeyboardInterrupt from error


def connect(path: Path, *, read_only: bool, wait_s: float) -> DuckDBPyConnection:
    """Open an existing database, waiting up to `wait_s` seconds for whoever holds it.

    Times are shown in UTC.

    Raises:
        StoreError: it stays locked, may not be opened, or is no DuckDB file.
    """
    deadline = time.monotonic() + wait_s
    while True:
        try:
            connection = duckdb.connect(path, read_only=read_only)
            _show_utc(connection)
            return connection
        except duckdb.Error as error:
            if not _BUSY.search(str(error)):
                raise _unusable(path, error) from error
            if time.monotonic() >= deadline:
                raise _in_use(path, wait_s, error) from error
        time.sleep(RETRY_S)


def _show_utc(connection: DuckDBPyConnection) -> None:
    """Settings belong to all connections of this process to the file, and may be locked by now."""
    ((zone,),) = connection.execute("SELECT current_setting('TimeZone')").fetchall()
    if zone != "UTC":
        connection.execute("SET GLOBAL TimeZone = 'UTC'")


@contextmanager
def writer_lock(path: Path, wait_s: float) -> Iterator[None]:
    """Keep other orchestrators from writing to this database.

    Raises:
        StoreError: another one keeps it longer than `wait_s` seconds, the folder is read-only, or
            the path is a link that leads nowhere.
    """
    _refuse_loose_link(path)
    path = path.resolve()
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


@interruptible()
def create(path: Path, *, scratch: bool) -> None:
    """Make a new database under a temporary name, then give it its own; call with the lock held.

    Raises:
        StoreError: the file system refuses.
    """
    path = path.resolve()
    unfinished = path.with_name(f".{path.name}.new")
    try:
        _remove(unfinished, log_of(unfinished), log_of(path))
        with duckdb.connect(unfinished) as connection:
            create_schema(connection, scratch=scratch)
        unfinished.replace(path)
    except (duckdb.Error, OSError) as error:
        _remove(unfinished, log_of(unfinished))
        raise StoreError(
            f"{path}: cannot be created: {explain(error)}",
            hint="see that the folder can be written and the disk is not full",
        ) from error


def is_missing(path: Path) -> bool:
    """Whether there is no database: no file, or an empty one.

    Raises:
        StoreError: it is a link that leads nowhere.
    """
    _refuse_loose_link(path)
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def require_database(path: Path) -> None:
    """Insist that there is a database.

    Raises:
        StoreError: there is none.
    """
    if is_missing(path):
        raise StoreError(
            f"{path}: there is no database yet",
            hint="measure something first: `orchestrator run matrix.yaml`",
        )


@contextmanager
def explained(doing: str, hint: str) -> Iterator[None]:
    """Turn DuckDB's errors into `StoreError`s that say what was being done."""
    with interruptible():
        try:
            yield
        except duckdb.Error as error:
            raise StoreError(f"{doing}: {explain(error)}", hint=hint) from error


def explain(error: Exception) -> str:
    """An error's message without DuckDB's picture of the statement."""
    message = str(error).partition("\nLINE ")[0]
    return "\n".join(line for line in message.splitlines() if line.strip())


def _refuse_loose_link(path: Path) -> None:
    """A new database must not take the place of one whose disk is not mounted."""
    if path.is_symlink() and not path.exists():
        raise StoreError(
            f"{path}: a link to {path.readlink()}, where nothing is",
            hint="mount or restore what it leads to, or remove the link",
        )


def _remove(*leftovers: Path) -> None:
    for leftover in leftovers:
        leftover.unlink(missing_ok=True)


def log_of(path: Path) -> Path:
    """Where DuckDB keeps what was committed but is not yet in the database file."""
    return path.with_name(f"{path.name}.wal")


def _unusable(path: Path, error: Exception) -> StoreError:
    if refused := _REFUSED.search(str(error)):
        return StoreError(
            f"{path}: cannot be opened: {refused[0]}",
            hint="copy it to a folder of your own, or name another file with `--database`",
        )
    return NotADatabase(
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
