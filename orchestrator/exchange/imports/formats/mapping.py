"""Mapped files: any CSV or JSON with rows, whose columns and units a mapping file names."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from pydantic import ConfigDict, Field, PositiveInt, ValidationError, model_validator

from orchestrator.exchange.imports.document import (
    TOP,
    Document,
    column_names,
    parse_boolean,
    pointer,
    rows_of,
)
from orchestrator.exchange.imports.entry import FileEntry, Reading, gather
from orchestrator.exchange.imports.measurement import (
    UNITS,
    ImportedMeasurement,
    as_text,
    dimension_of,
    flatten,
    is_null,
)
from orchestrator.exchange.imports.simulation_marks import marks_in
from orchestrator.store.schema.tables import OURS, SYNTHETIC
from orchestrator.system.plain_data import Location
from orchestrator.system.problems import Problem, problems_in, quote, raise_problems, read_source
from runner.contract.cell import Frozen
from runner.contract.errors import DamagedFile, refuse_key, refuse_unknown, suggest
from runner.contract.record.verdict import Status

_HINT = (
    "a mapping names its source and columns, such as {source: lab, columns: {model: {from: name}, "
    "backend: {const: cpu}, latency_p50_s: {from: ms, unit: ms}}}"
)
_TEXT_COLUMNS = frozenset(
    name
    for name, info in ImportedMeasurement.model_fields.items()
    if set(get_args(info.annotation) or (info.annotation,)) <= {str, NoneType}
) - {"location"}
_WITHOUT_UNIT = _TEXT_COLUMNS | {"status", "simulated", "measured_at"}
_UNIT_REQUIRED = frozenset({"seconds", "nanoseconds", "bytes", "joules"})
_COLUMNS = tuple(
    name
    for name in ImportedMeasurement.model_fields
    if name not in {"location", "marks", "details", "libraries", "settings", "part_durations_ns"}
)
_ABSENT = object()
_ALL = "*"
_Plain = str | int | float | bool


class ValueSource(Frozen):
    """Source of a column's value: exactly one of `from`, `const` and `key`."""

    model_config = ConfigDict(strict=True)

    from_: str | None = Field(default=None, alias="from", min_length=1)
    """The CSV's column, or the path in a JSON row; a path that starts with `/` is the file's."""
    const: Any = None
    """The value itself, for what the file lacks."""
    key: PositiveInt | None = None
    """Position of a `*` in `rows`, counted from 1; its name is the value."""
    unit: str | None = None
    values: dict[str, _Plain] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _one_of_them(self) -> "ValueSource":
        given = [getattr(self, name) for name in ("from_", "const", "key")]
        if given.count(None) != len(given) - 1:
            raise ValueError("must name exactly one of from, const and key")
        if not isinstance(self.const, _Plain | None):
            raise ValueError("const must be text, a number, true or false")
        return self

    @property
    def name(self) -> str:
        """Name of the value in errors."""
        return self.from_ or f"the mapping's {f'key {self.key}' if self.key else 'const'}"


class MappingFile(Frozen):
    """The content of a mapping file."""

    model_config = ConfigDict(strict=True)

    source: str = Field(min_length=1)
    rows: str | None = Field(default=None, min_length=1)
    """Path of the rows in a JSON file, e.g. `results.*`; absent: the file's list, or the file."""
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    columns: dict[str, ValueSource]
    libraries: dict[str, ValueSource] = Field(default_factory=dict)
    settings: dict[str, ValueSource] = Field(default_factory=dict)
    """Values by name that no column takes and in which results agree that may be compared."""


def read_mapping(path: Path) -> MappingFile:
    source = read_source(path)
    if source.data is None:
        raise_problems(source, [Problem((), "is empty")], _HINT)
    columns = source.data.get("columns") if isinstance(source.data, dict) else None
    unknown = [
        Problem(("columns", name), refuse_key(name, _COLUMNS))
        for name in (columns if isinstance(columns, dict) else ())
        if name not in _COLUMNS
    ]
    try:
        mapping = MappingFile.model_validate(source.data)
    except ValidationError as error:
        raise_problems(source, [*problems_in(error, _keys_at), *unknown], _HINT)
        raise
    raise_problems(source, [*unknown, *_flaws(mapping)], _HINT)
    return mapping


def _keys_at(location: Location) -> tuple[str, ...]:
    fields = ValueSource.model_fields if location else MappingFile.model_fields
    return tuple(info.alias or name for name, info in fields.items())


def _flaws(mapping: MappingFile) -> Iterator[Problem]:
    if mapping.source.strip().lower() in {OURS, SYNTHETIC}:
        yield Problem(("source",), f"{mapping.source!r} stands for rows of AccelMatrix alone")
    if "model" not in mapping.columns:
        yield Problem(("columns", "model"), "is required: no record is without its model")
    for name, origin in mapping.columns.items():
        if name in _COLUMNS and (flaw := _unit_flaw(name, origin.unit)):
            yield Problem(("columns", name, "unit"), flaw)
    stars = (mapping.rows or "").split(".").count(_ALL)
    for table in ("columns", "libraries", "settings"):
        for name, origin in getattr(mapping, table).items():
            if origin.key is not None and origin.key > stars:
                message = f"{origin.key} is more than the {stars} `*` in rows"
                yield Problem((table, name, "key"), message)


def _unit_flaw(column: str, unit: str | None) -> str | None:
    if column in _WITHOUT_UNIT:
        return None if unit is None else f"{column} has no unit"
    dimension = dimension_of(column)
    if unit is None:
        required = f"is required: one of {', '.join(UNITS[dimension])}"
        return required if dimension in _UNIT_REQUIRED else None
    return None if unit in UNITS[dimension] else refuse_unknown(unit, tuple(UNITS[dimension]))


@dataclass(frozen=True)
class MappedRow:
    """One row and the file that it is in."""

    location: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    """The names matched by each `*` on the path to it."""
    root: Any = None
    fault: str | None = None

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
    root = document.json
    if isinstance(root, dict | list):
        yield from _rows_below(root, _steps(root, mapping), MappedRow(root=root))
        return
    for row in rows_of(document, mapping.delimiter):
        yield MappedRow(row.location, row.cells, fault=row.fault)


def _steps(root: Any, mapping: MappingFile) -> list[str]:
    if mapping.rows is None:
        return [_ALL] if isinstance(root, list) else []
    return mapping.rows.split(".")


def _rows_below(value: Any, steps: list[str], row: MappedRow) -> Iterator[MappedRow]:
    """The rows at the end of the steps; `row` has what is known of them on the way."""
    location = row.location or TOP
    if value is _ABSENT:
        yield replace(row, location=location, fault=f"{location}: is not in the file")
    elif not steps and isinstance(value, dict):
        yield replace(row, location=location, values=value)
    elif not steps:
        fault = f"{location}: {quote(value)} is not a table of values"
        yield replace(row, location=location, fault=fault)
    elif steps[0] == _ALL:
        items = value.items() if isinstance(value, dict) else ()
        for name, item in enumerate(value) if isinstance(value, list) else items:
            keys = (*row.keys, str(name))
            child = replace(row, location=pointer(row.location, name), keys=keys)
            yield from _rows_below(item, steps[1:], child)
    else:
        child = replace(row, location=pointer(row.location, steps[0]))
        yield from _rows_below(_follow(value, steps[:1]), steps[1:], child)


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
        tables = (mapping.columns, mapping.libraries, mapping.settings)
        origins = [origin for table in tables for origin in table.values()]
        self._paths = tuple(dict.fromkeys(origin.from_ for origin in origins if origin.from_))

    @classmethod
    def load(cls, path: Path) -> "MappedFormat":
        return cls(read_mapping(path), path.stem)

    def recognises(self, document: Document) -> bool:
        try:
            return self._mismatch(document) is None
        except DamagedFile:
            return False

    def read(self, document: Document) -> Reading:
        if mismatch := self._mismatch(document):
            raise DamagedFile(mismatch)
        context = self._context(document.json)
        entries = (self._entry(row, context) for row in _rows_in(document, self._mapping))
        return replace(gather(entries, "a table without a measured value"), beside=(self.name,))

    def _mismatch(self, document: Document) -> str | None:
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

    def _context(self, root: Any) -> dict[str, Any]:
        steps = _steps(root, self._mapping)
        if not isinstance(root, dict) or not steps or steps[0] == _ALL:
            return {}
        return {name: value for name, value in root.items() if name != steps[0]}

    def _entry(self, row: MappedRow, context: dict[str, Any]) -> FileEntry:
        entry = FileEntry(row.location, row.fault)
        if row.fault:
            return entry
        entry.mark(*marks_in(context), *marks_in(row.values, row.location.rstrip("/")))
        entry.set(status="ok")
        for column, origin in self._mapping.columns.items():
            value = _value(entry, row, origin)
            if not is_null(value):
                _take(entry, column, origin, value)
        libraries = self._mapping.libraries.items()
        versions = {name: _value(entry, row, origin) for name, origin in libraries}
        entry.set(libraries={name: as_text(v) for name, v in versions.items() if not is_null(v)})
        for name, origin in self._mapping.settings.items():
            entry.setting(name, _value(entry, row, origin))
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
        allowed = tuple(origin.values)
        entry.fault(origin.name, refuse_unknown(value, allowed, " in the mapping's values"))
    return meant


def _take(entry: FileEntry, column: str, origin: ValueSource, value: Any) -> None:
    try:
        if column == "status":
            if value not in get_args(Status):
                otherwise = ": name `values` in the mapping"
                raise ValueError(refuse_unknown(value, get_args(Status), otherwise))
            entry.set(status=value)
        elif column == "simulated":
            if parse_boolean(value):
                entry.mark(f"{pointer(entry.location, origin.name)}: {quote(value)}")
        elif column == "measured_at":
            entry.moment(column, origin.name, value)
        elif column == "durations_ns":
            entry.durations(origin.name, value, origin.unit or "ns")
        elif column in _TEXT_COLUMNS:
            entry.text(column, origin.name, value)
        else:
            entry.number(column, origin.name, value, origin.unit)
    except ValueError as error:
        entry.fault(origin.name, str(error))
