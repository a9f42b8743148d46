"""The files of a database: the file itself and its write-ahead log."""

from pathlib import Path

from runner.contract.errors import StoreError


def wal_path(path: Path) -> Path:
    """The write-ahead log, where DuckDB keeps what was committed and is not yet in the file."""
    return path.with_name(f"{path.name}.wal")


def size_of(path: Path) -> int:
    """The size of the database and its log, bytes."""
    return sum(file.stat().st_size for file in (path, wal_path(path)) if file.exists())


def delete_database(path: Path) -> None:
    """Remove a database and its log, if they are there."""
    for file in (path, wal_path(path)):
        file.unlink(missing_ok=True)


def is_missing(path: Path) -> bool:
    """True if there is no database: no file, or an empty one.

    Raises:
        StoreError: it is a link that leads nowhere.
    """
    refuse_dangling_link(path)
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


def refuse_dangling_link(path: Path) -> None:
    """Insist that it is no link to nowhere: no new database replaces one that is not mounted.

    Raises:
        StoreError: it is.
    """
    if path.is_symlink() and not path.exists():
        raise StoreError(
            f"{path}: a link to {path.readlink()}, where nothing is",
            hint="mount or restore what it leads to, or remove the link",
        )
