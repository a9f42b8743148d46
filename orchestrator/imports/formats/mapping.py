"""Any CSV or JSON with rows, read as a mapping file says."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from orchestrator.imports.document import Document, under
from orchestrator.imports.entry import Entry
from orchestrator.imports.formats.base import NotReadable, Reading
from orchestrator.imports.formats.mapping_file import (
    SPECIAL,
    TEXTS,
    MappingFile,
    Origin,
    read_mapping,
)
from orchestrator.imports.gathering import Gathering
from orchestrator.imports.marks import marks_in
from orchestrator.imports.measurement import as_text, flatten, says_nothing
from orchestrator.imports.table import columns_of, moment_in, rows_of, truth_from
from orchestrator.system.problems import not_one_of, quote
from runner.contract.errors import suggest
from runner.contract.record import Status

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
        fault = None if isinstance(value, dict) else f"{quote(value)} is not a table of values"
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


class Mapped:
    """The format that a mapping file describes; two files are two formats."""

    def __init__(self, mapping: MappingFile, name: str) -> None:
        self.name = f"mapping:{name}"
        self.source = mapping.source
        self._mapping = mapping
        origins = (*mapping.columns.values(), *mapping.libraries.values())
        self._paths = tuple(dict.fromkeys(origin.from_ for origin in origins if origin.from_))

    @classmethod
    def load(cls, path: Path) -> "Mapped":
        """The format that this mapping file describes.

        Raises:
            UsageError: the mapping file is wrong.
        """
        return cls(read_mapping(path), path.stem)

    def recognises(self, document: Document) -> bool:
        """Whether the file has rows, and all that the mapping takes from them."""
        try:
            return self._mismatch(document) is None
        except NotReadable:
            return False

    def read(self, document: Document) -> Reading:
        """One measurement for each row.

        Raises:
            NotReadable: the file lacks what the mapping names, or no row could be read.
        """
        if mismatch := self._mismatch(document):
            raise NotReadable(mismatch)
        around = self._around(document)
        gathering = Gathering()
        for row in rows_in(document, self._mapping):
            if row.fault:
                gathering.fault(row.fault)
            else:
                gathering.take(self._entry(row, around))
        reading = gathering.reading("a table without a measured value")
        return replace(reading, beside=(self.name,))

    def _mismatch(self, document: Document) -> str | None:
        """Why the file is not what the mapping describes."""
        if isinstance(document.json, dict | list):
            rows = list(rows_in(document, self._mapping))
            if rows and all(row.fault for row in rows):
                return rows[0].fault
            names = [name for row in rows for name in row.values]
            missing = [path for path in self._paths if all(row.at(path) is ABSENT for row in rows)]
        else:
            names = columns_of(document, self._mapping.delimiter)
            missing = [path for path in self._paths if path not in names]
        if not missing:
            return None
        near = suggest(missing[0], dict.fromkeys(names))
        if len(names) == 1 and document.json is None:
            near = f"; {self._mapping.delimiter!r} separates no columns in its first line"
        return f"the mapping names {missing[0]!r}, which is not in the file{near}"

    def _around(self, document: Document) -> Any:
        """What a JSON file says beside its rows."""
        root = document.json
        steps = steps_of(root, self._mapping)
        if not isinstance(root, dict) or not steps:
            return {}
        return {name: value for name, value in root.items() if name != steps[0] and steps[0] != "*"}

    def _entry(self, row: MappedRow, around: Any) -> Entry:
        entry = Entry(row.place)
        entry.mark(*marks_in(around), *marks_in(row.values, row.place.rstrip("/")))
        entry.set(status="ok")
        for column, origin in self._mapping.columns.items():
            value = _value(entry, row, origin)
            if not says_nothing(value):
                _take(entry, column, origin, value)
        versions = {
            name: _value(entry, row, origin) for name, origin in self._mapping.libraries.items()
        }
        entry.set(
            libraries={name: as_text(v) for name, v in versions.items() if not says_nothing(v)}
        )
        for name, text in flatten(around).items():
            entry.detail(f"/{name}", text)
        entry.detail("", row.values)
        return entry


def _value(entry: Entry, row: MappedRow, origin: Origin) -> Any:
    value = origin.const
    if origin.key is not None:
        value = row.keys[origin.key - 1]
    elif origin.from_ is not None:
        found = row.at(origin.from_)
        value = None if found is ABSENT else found
    if origin.values is None or says_nothing(value):
        return value
    meant = origin.values.get(as_text(value).strip())
    if meant is None:
        entry.fault(
            origin.name, not_one_of(value, tuple(origin.values), " in the mapping's values")
        )
    return meant


def _take(entry: Entry, column: str, origin: Origin, value: Any) -> None:
    if column in SPECIAL:
        _SPECIAL[column](entry, origin, value)
    elif column in TEXTS:
        entry.text(column, origin.name, value)
    else:
        entry.number(column, origin.name, value, origin.unit)


def _status(entry: Entry, origin: Origin, value: Any) -> None:
    if value in get_args(Status):
        entry.set(status=value)
    else:
        entry.fault(
            origin.name, not_one_of(value, get_args(Status), ": name `values` in the mapping")
        )


def _simulated(entry: Entry, origin: Origin, value: Any) -> None:
    try:
        if truth_from(value):
            entry.mark(f"{under(entry.place, origin.name)}: {quote(value)}")
    except ValueError as error:
        entry.fault(origin.name, str(error))


def _measured_at(entry: Entry, origin: Origin, value: Any) -> None:
    try:
        moment, told_zone = moment_in(str(value))
    except ValueError:
        entry.fault(origin.name, f"{quote(value)} is not a time such as 2025-03-01T12:00:00Z")
        return
    if not told_zone:
        entry.detail("measured_at", "has no zone and is taken as UTC")
    entry.set(measured_at=moment)


def _durations(entry: Entry, origin: Origin, value: Any) -> None:
    entry.durations(origin.name, value, origin.unit or "ns")


_SPECIAL = {
    "status": _status,
    "simulated": _simulated,
    "measured_at": _measured_at,
    "durations_ns": _durations,
}
