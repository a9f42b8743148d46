"""The rows of somebody's own CSV or JSON, and the values at paths in them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from orchestrator.imports.document import Document
from orchestrator.imports.formats.mapping_file import MappingFile
from orchestrator.imports.pointer import under
from orchestrator.imports.table import rows_of
from orchestrator.matrix.problems import shown

ABSENT = object()
ALL = "*"


@dataclass(frozen=True)
class MappedRow:
    """One row with what surrounds it."""

    place: str
    """Its line, or a JSON pointer."""
    values: dict[str, Any]
    keys: tuple[str, ...] = ()
    """What each `*` on the way to it stands for."""
    root: Any = None
    """The whole JSON file."""
    fault: str | None = None
    """What is wrong with the row as a whole."""

    def at(self, path: str) -> Any:
        """The value at a path; `ABSENT` if there is none."""
        if path in self.values:
            return self.values[path]
        if self.root is None:
            return ABSENT
        if path.startswith("/"):
            return _follow(self.root, path[1:].split("/"))
        return _follow(self.values, path.split("."))


def rows_in(document: Document, mapping: MappingFile) -> Iterator[MappedRow]:
    """The file's rows.

    Raises:
        NotReadable: the file is no CSV from some line on, or names a column twice.
    """
    root = document.json
    if not isinstance(root, dict | list):
        for row in rows_of(document, mapping.delimiter):
            yield MappedRow(row.place, row.cells, fault=row.fault)
        return
    yield from _rows(root, steps_of(root, mapping), MappedRow("", {}, root=root))


def steps_of(root: Any, mapping: MappingFile) -> list[str]:
    """The steps from a JSON file's top to its rows."""
    if mapping.rows is None:
        return [ALL] if isinstance(root, list) else []
    return mapping.rows.split(".")


def _rows(value: Any, steps: list[str], way: MappedRow) -> Iterator[MappedRow]:
    if not steps:
        fault = None if isinstance(value, dict) else f"{shown(value)} is not a table of values"
        yield _row(way, value if fault is None else {}, fault)
    elif steps[0] == ALL:
        for name, item in _items(value):
            further = MappedRow(under(way.place, name), {}, (*way.keys, name), way.root)
            yield from _rows(item, steps[1:], further)
    else:
        item = _follow(value, steps[:1])
        further = MappedRow(under(way.place, steps[0]), {}, way.keys, way.root)
        if item is ABSENT:
            yield _row(further, {}, "is not in the file")
        else:
            yield from _rows(item, steps[1:], further)


def _row(way: MappedRow, values: dict[str, Any], fault: str | None) -> MappedRow:
    place = way.place or "/"
    return MappedRow(place, values, way.keys, way.root, f"{place}: {fault}" if fault else None)


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, list):
        yield from ((str(position), item) for position, item in enumerate(value))


def _follow(value: Any, steps: list[str]) -> Any:
    for step in steps:
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif isinstance(value, list) and step.isdecimal() and int(step) < len(value):
            value = value[int(step)]
        else:
            return ABSENT
    return value
