"""Answers for the screen. Plain values come without Arrow, which takes longer to load than they do.

Other types become text as in files; `values` knows how.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from duckdb import DuckDBPyRelation

ShownRow = tuple[Any, ...]

_WHOLE = ("tinyint", "smallint", "integer", "bigint", "hugeint")
_PLAIN: Mapping[str, str] = {
    **dict.fromkeys([*_WHOLE, *(f"u{name}" for name in _WHOLE)], "#{}"),
    **dict.fromkeys(["double", "varchar", "null"], "#{}"),
    "boolean": "#{}::VARCHAR",
    "timestamp with time zone": (
        "replace(strftime(#{}, '%Y-%m-%dT%H:%M:%S.%f+00:00'), '.000000+', '+')"
    ),
}
"""Types whose values Python and DuckDB show alike, and the expression of a column that does."""
_NUMBER_BYTES = 8


@dataclass(frozen=True)
class ShownAnswer:
    """The answer to a question, as a table shows it. It can be read once."""

    names: Sequence[str]
    """Its columns; no two have the same name."""
    rows: Iterator[ShownRow]
    """Numbers as they are, and text; they take no more memory than a question may."""


def plain_question(relation: DuckDBPyRelation) -> str | None:
    """The question that gives plain values; None if one of its columns has others."""
    kinds = [type_.id for type_ in relation.types]
    if not _PLAIN.keys() >= set(kinds):
        return None
    columns = [_PLAIN[kind].format(number) for number, kind in enumerate(kinds, 1)]
    return relation.project(", ".join(columns)).sql_query()


def bytes_of(rows: Sequence[ShownRow]) -> int:
    """The memory of the values in rows, as Arrow would count it."""
    return sum(
        len(value) if isinstance(value, str) else _NUMBER_BYTES for row in rows for value in row
    )
