"""A database file and the log beside it: whether they are there, what they take, how they go."""

from pathlib import Path

from runner.contract.errors import StoreError


def log_of(path: Path) -> Path:
    """Where DuckDB keeps what was committed but is not yet in the database file."""
    return path.with_name(f"{path.name}.wal")


def size_of(path: Path) -> int:
    """The size of the database and its log, bytes."""
    return sum(each.stat().st_size for each in (path, log_of(path)) if each.exists())


def discard(path: Path) -> None:
    """Remove a database and its log, if they are there."""
    for each in (path, log_of(path)):
        each.unlink(missing_ok=True)


def is_missing(path: Path) -> bool:
    """Whether there is no database: no file, or an empty one.

    Raises:
        StoreError: it is a link that leads nowhere.
    """
    refuse_loose_link(path)
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


def refuse_loose_link(path: Path) -> None:
    """Insist that it is no link to nowhere: no new database replaces one that is not mounted.

    Raises:
        StoreError: it is.
    """
    if path.is_symlink() and not path.exists():
        raise StoreError(
            f"{path}: a link to {path.readlink()}, where nothing is",
            hint="mount or restore what it leads to, or remove the link",
        )
