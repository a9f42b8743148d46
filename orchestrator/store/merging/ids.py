"""Ids name folders and files, so none of them may be a path that leads elsewhere."""

from collections.abc import Mapping

ID_COLUMNS = ("run_id", "job_id", "cell_id")
_LEADING_ELSEWHERE = ("", ".", "..")
"""What no part of an id between slashes may be; a path from the root begins with an empty one."""


def id_fault(row: Mapping[str, object]) -> str | None:
    """Which of the row's ids is a path; None if none is."""
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
