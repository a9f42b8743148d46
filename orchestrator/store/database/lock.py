"""Lock files of a database, and the paths of what lies beside it."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from orchestrator.system.files import REMEDY, file_hint
from runner.contract.errors import StoreError


def wal_path(path: Path) -> Path:
    """The write-ahead log, where DuckDB keeps what was committed and is not yet in the file."""
    return path.with_name(f"{path.name}.wal")


def lock_path(path: Path) -> Path:
    """The file that a writer locks."""
    return path.with_name(f"{path.name}.lock")


def size_of(path: Path) -> int:
    """The size of the database and its log, bytes."""
    return sum(file.stat().st_size for file in (path, wal_path(path)) if file.exists())


def delete_database(path: Path) -> None:
    """Remove a database and its log, if they are there."""
    for file in (path, wal_path(path)):
        file.unlink(missing_ok=True)


def is_missing(path: Path) -> bool:
    """True if there is no database: no file, or an empty one."""
    refuse_dangling_link(path)
    return not path.exists() or (path.is_file() and path.stat().st_size == 0)


def require_database(path: Path) -> None:
    """Insist that there is a database."""
    if is_missing(path):
        raise StoreError(
            f"{path.absolute()}: there is no database yet",
            hint="measure something first: `orchestrator bench --model bert-tiny`; or name another"
            " folder with `--results`, or a file with `--database`",
        )


def refuse_dangling_link(path: Path) -> None:
    """Insist that it is no link to nowhere: no new database replaces one that is not mounted."""
    if path.is_symlink() and not path.exists():
        raise StoreError(
            f"{path}: a link to {path.readlink()}, where nothing is",
            hint="mount or restore what it leads to, or remove the link",
        )


WAIT_S = 30.0
"""Default time to wait for a locked database, in seconds."""
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
        raise in_use_error(path, wait_s, _duckdb_error(path)) from error
    except OSError as error:
        raise StoreError(
            f"{path}: cannot be written: {error.strerror or error}",
            hint=file_hint(error, f"{REMEDY} with `--database`"),
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
