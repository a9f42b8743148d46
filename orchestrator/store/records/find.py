"""Find record files, and check the ids in them, which become names of files."""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from runner.contract.errors import StoreError


def find_files(paths: Iterable[Path]) -> list[Path]:
    """The record files under these paths, in order; folders are searched to the bottom.

    Unfinished files (a name that starts with `.` or ends with `.tmp`) are left out, and so is all
    that lies in a folder whose name starts with `.`, such as what `maintain` is about to drop.

    Raises:
        StoreError: one of the paths does not exist.
    """
    files: set[Path] = set()
    for path in paths:
        if path.is_dir():
            files.update(files_below(path))
        elif path.exists():
            files.add(path)
        else:
            raise StoreError(
                f"{path}: no such file or folder",
                hint="name Parquet files, or folders of them such as results/",
            )
    finished = (path for path in files if not path.name.startswith("."))
    return sorted({path.absolute() for path in finished if path.suffix != ".tmp"})


def files_below(folder: Path) -> Iterator[Path]:
    """The Parquet files in the folder and those below it, whatever goes away meanwhile."""
    for parent, folders, names in os.walk(folder):
        folders[:] = (name for name in folders if not name.startswith("."))
        yield from (Path(parent, name) for name in names if name.endswith(".parquet"))


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
