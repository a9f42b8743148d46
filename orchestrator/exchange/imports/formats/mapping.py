"""Mapped files: any CSV or JSON with rows, read as a mapping file says."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from orchestrator.exchange.imports.document import (
    Document,
    column_names,
    parse_boolean,
    parse_time,
    pointer,
    rows_of,
)
from orchestrator.exchange.imports.entry import (
    BrokenEntry,
    FileEntry,
    ReadableEntry,
    Reading,
    gather,
)
from orchestrator.exchange.imports.formats.mapping_file import (
    SPECIAL_COLUMNS,
    TEXT_COLUMNS,
    MappingFile,
    ValueSource,
    read_mapping,
)
from orchestrator.exchange.imports.measurement import as_text, flatten, is_null, moment_fault
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.system.problems import quote
from runner.contract.errors import DamagedFile, refuse_unknown, suggest
from runner.contract.record.verdict import Status

_ABSENT = object()
_ALL = "*"


@dataclass(frozen=True)
class MappedRow:
    """One row and the file that it is in."""

    location: str
    """Its line, or a JSON pointer."""
    values: dict[str, Any]
    keys: tuple[str, ...] = ()
    """The names matched by each `*` on the path to it."""
    root: Any = None
    """The whole JSON file."""
    fault: str | None = None
    """The fault of the row as a whole."""

    def at(self, path: str) -> Any:
        """The value at a path; a marker if there is none."""
        if path in self.values:
            return self.values[path]
        if self.root is None:
            return _ABSENT
        if path.startswith("/"):
            return _follow(self.root, path[1:].split("/"))
        return _follow(self.values, path.split("."))


def _rows_in(document: Document, mapping: MappingFile) -> Iterator[MappedRow]:
    """Read the rows of a file."""
    root = document.json
    if not isinstance(root, dict | list):
        for row in rows_of(document, mapping.delimiter):
            yield MappedRow(row.location, row.cells, fault=row.fault)
        return
    yield from _rows(root, _steps(root, mapping), MappedRow("", {}, root=root))


def _steps(root: Any, mapping: MappingFile) -> list[str]:
    """The steps from a JSON file's top to its rows."""
    if mapping.rows is None:
        return [_ALL] if isinstance(root, list) else []
    return mapping.rows.split(".")


def _rows(value: Any, steps: list[str], parent: MappedRow) -> Iterator[MappedRow]:
    if not steps:
        fault = None if isinstance(value, dict) else f"{quote(value)} is not a table of values"
        yield _row(parent, value if fault is None else {}, fault)
    elif steps[0] == _ALL:
        for name, item in _items(value):
            child = MappedRow(pointer(parent.location, name), {}, (*parent.keys, name), parent.root)
            yield from _rows(item, steps[1:], child)
    else:
        item = _follow(value, steps[:1])
        child = MappedRow(pointer(parent.location, steps[0]), {}, parent.keys, parent.root)
        if item is _ABSENT:
            yield _row(child, {}, "is not in the file")
        else:
            yield from _rows(item, steps[1:], child)


def _row(parent: MappedRow, values: dict[str, Any], fault: str | None) -> MappedRow:
    location = parent.location or "/"
    return MappedRow(
        location, values, parent.keys, parent.root, f"{location}: {fault}" if fault else None
    )


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
            return _ABSENT
    return value


class MappedFormat:
    """The format that a mapping file describes; each mapping file is a format of its own."""

    def __init__(self, mapping: MappingFile, name: str) -> None:
        self.name = f"mapping:{name}"
        self.source = mapping.source
        self._mapping = mapping
        origins = (*mapping.columns.values(), *mapping.libraries.values())
        self._paths = tuple(dict.fromkeys(origin.from_ for origin in origins if origin.from_))

    @classmethod
    def load(cls, path: Path) -> "MappedFormat":
        """The format that this mapping file describes.

        Raises:
            UsageError: the mapping file is wrong.
        """
        return cls(read_mapping(path), path.stem)

    def recognises(self, document: Document) -> bool:
        """True if the file has rows, and all that the mapping takes from them."""
        try:
            return self._mismatch(document) is None
        except DamagedFile:
            return False

    def read(self, document: Document) -> Reading:
        """Read one measurement for each row.

        Raises:
            DamagedFile: the file lacks what the mapping names, or no row could be read.
        """
        if mismatch := self._mismatch(document):
            raise DamagedFile(mismatch)
        context = self._context(document)
        rows = _rows_in(document, self._mapping)
        entries = (self._entry(row, context) for row in rows)
        return replace(gather(entries, "a table without a measured value"), beside=(self.name,))

    def _mismatch(self, document: Document) -> str | None:
        """The reason why the file is not what the mapping describes."""
        if isinstance(document.json, dict | list):
            rows = list(_rows_in(document, self._mapping))
            if rows and all(row.fault for row in rows):
                return rows[0].fault
            names = [name for row in rows for name in row.values]
            missing = [path for path in self._paths if all(row.at(path) is _ABSENT for row in rows)]
        else:
            names = column_names(document, self._mapping.delimiter)
            missing = [path for path in self._paths if path not in names]
        if not missing:
            return None
        suggestion = suggest(missing[0], dict.fromkeys(names))
        if len(names) == 1 and document.json is None:
            suggestion = f"; {self._mapping.delimiter!r} separates no columns in its first line"
        return f"the mapping names {missing[0]!r}, which is not in the file{suggestion}"

    def _context(self, document: Document) -> Any:
        """The values of a JSON file beside its rows."""
        root = document.json
        steps = _steps(root, self._mapping)
        if not isinstance(root, dict) or not steps:
            return {}
        return {name: value for name, value in root.items() if name != steps[0] and steps[0] != "*"}

    def _entry(self, row: MappedRow, context: Any) -> ReadableEntry:
        if row.fault:
            return BrokenEntry(row.location, row.fault)
        entry = FileEntry(row.location)
        entry.mark(*marks_in(context), *marks_in(row.values, row.location.rstrip("/")))
        entry.set(status="ok")
        for column, origin in self._mapping.columns.items():
            value = _value(entry, row, origin)
            if not is_null(value):
                _take(entry, column, origin, value)
        versions = {
            name: _value(entry, row, origin) for name, origin in self._mapping.libraries.items()
        }
        entry.set(libraries={name: as_text(v) for name, v in versions.items() if not is_null(v)})
        for name, text in flatten(context).items():
            entry.detail(f"/{name}", text)
        entry.detail("", row.values)
        return entry


def _value(entry: FileEntry, row: MappedRow, origin: ValueSource) -> Any:
    value = origin.const
    if origin.key is not None:
        value = row.keys[origin.key - 1]
    elif origin.from_ is not None:
        value = row.at(origin.from_)
        value = None if value is _ABSENT else value
    if origin.values is None or is_null(value):
        return value
    meant = origin.values.get(as_text(value).strip())
    if meant is None:
        entry.fault(
            origin.name, refuse_unknown(value, tuple(origin.values), " in the mapping's values")
        )
    return meant


def _take(entry: FileEntry, column: str, origin: ValueSource, value: Any) -> None:
    if column in SPECIAL_COLUMNS:
        _SPECIAL[column](entry, origin, value)
    elif column in TEXT_COLUMNS:
        entry.text(column, origin.name, value)
    else:
        entry.number(column, origin.name, value, origin.unit)


def _status(entry: FileEntry, origin: ValueSource, value: Any) -> None:
    if value in get_args(Status):
        entry.set(status=value)
    else:
        entry.fault(
            origin.name, refuse_unknown(value, get_args(Status), ": name `values` in the mapping")
        )


def _simulated(entry: FileEntry, origin: ValueSource, value: Any) -> None:
    try:
        if parse_boolean(value):
            entry.mark(f"{pointer(entry.location, origin.name)}: {quote(value)}")
    except ValueError as error:
        entry.fault(origin.name, str(error))


def _measured_at(entry: FileEntry, origin: ValueSource, value: Any) -> None:
    try:
        moment, has_zone = parse_time(str(value))
    except ValueError:
        entry.fault(origin.name, f"{quote(value)} is not a time such as 2025-03-01T12:00:00Z")
        return
    if fault := moment_fault(moment):
        entry.fault(origin.name, fault)
        return
    if not has_zone:
        entry.detail("measured_at", "has no zone and is taken as UTC")
    entry.set(measured_at=moment)


def _durations(entry: FileEntry, origin: ValueSource, value: Any) -> None:
    entry.durations(origin.name, value, origin.unit or "ns")


_SPECIAL = {
    "status": _status,
    "simulated": _simulated,
    "measured_at": _measured_at,
    "durations_ns": _durations,
}
