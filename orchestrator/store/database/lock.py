"""The lock of writers: one orchestrator at a time writes to a database."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from orchestrator.store.database.paths import refuse_dangling_link
from runner.contract.errors import StoreError

WAIT_S = 10.0
"""Default time to wait for a locked database, in seconds."""
_HOLDER = re.compile(r"held in (.+?\(PID \d+\))")


@contextmanager
def writer_lock(path: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    """Keep other orchestrators from writing to this database.

    Raises:
        StoreError: another one keeps it longer than `wait_s` seconds, the folder is read-only, or
            the path is a link that leads nowhere.
    """
    refuse_dangling_link(path)
    path = path.resolve()
    lock = FileLock(f"{path}.lock", timeout=wait_s)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise in_use_error(path, wait_s, _duckdb_error(path)) from error
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}",
            hint="choose a database in a folder of your own with `--database`",
        ) from error
    try:
        yield
    finally:
        lock.release()


def in_use_error(path: Path, wait_s: float, error: Exception | None) -> StoreError:
    """The error for a locked database; DuckDB's own error names the process that holds it."""
    holder = _HOLDER.search(str(error))
    by = holder[1] if holder else "another connection"
    return StoreError(
        f"{path}: still in use by {by} after waiting {wait_s:g} s",
        hint="wait for it to finish or end it, then try again; nothing was changed",
    )


def _duckdb_error(path: Path) -> Exception | None:
    try:
        duckdb.connect(path, read_only=True).close()
    except duckdb.Error as error:
        return error
    return None
