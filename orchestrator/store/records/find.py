"""Find record files, and check the ids in them, which become names of files."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runner.contract.errors import StoreError

_DEEPEST = 32
"""Folders between the one that was named and a record; a run has two."""


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The record files under these paths, in order; folders are searched.

    Unfinished files are left out, and so are folders whose name starts with `.`, such as a run that
    is being dropped. What a link leads to is returned.
    """
    files: set[Path] = set()
    for path in paths:
        if path.is_dir():
            files.update(files_below(path))
        elif path.exists():
            files.add(path.resolve() if path.is_symlink() else path)
        else:
            raise StoreError(
                f"{path}: no such file or folder",
                hint="name Parquet files, or folders of them such as results/",
            )
    finished = (path for path in files if not path.name.startswith("."))
    return sorted({path.absolute() for path in finished if path.suffix != ".tmp"})


def files_below(folder: Path) -> Iterator[Path]:
    """All of a record file's name in the folder and below, whatever goes away meanwhile.

    No link is followed. What is no plain file, cannot be listed or lies too deep is returned like
    one, so that whoever opens it can name it.
    """
    unlisted: list[Path] = []

    def note(error: OSError) -> None:
        unlisted.append(Path(error.filename))

    for parent, folders, names in os.walk(folder, onerror=note):
        below = Path(parent)
        links = [name for name in folders if (below / name).is_symlink()]
        folders[:] = (name for name in folders if not name.startswith(".") and name not in links)
        if len(below.relative_to(folder).parts) >= _DEEPEST:
            unlisted += (below / name for name in folders)
            folders.clear()
        yield from (below / name for name in (*names, *links) if name.endswith(".parquet"))
    yield from (path for path in unlisted if os.path.lexists(path))


ID_COLUMNS = ("run_id", "job_id", "cell_id")
_LEADING_ELSEWHERE = ("", ".", "..")
"""Parts between slashes that no id has; a path from the root begins with an empty one."""


def id_fault(row: Mapping[str, object]) -> str | None:
    """The reason why one of the row's ids is a path; None if none is."""
    for name in ID_COLUMNS:
        value = row.get(name)
        if isinstance(value, str) and not {*value.split("/")}.isdisjoint(_LEADING_ELSEWHERE):
            return f"{name}: {value!r} is a path, and no id"
    return None


def is_path(column: str) -> str:
    """The same as a condition in SQL; whether there is a slash at all is the cheaper question."""
    parts = ", ".join(f"'{part}'" for part in _LEADING_ELSEWHERE)
    return (
        f"({column} IN ({parts}) OR contains({column}, '/')"
        f" AND list_has_any(string_split({column}, '/'), [{parts}]))"
    )
