"""Mapping files: the columns or paths that fill each of our columns, with their units."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from pydantic import ConfigDict, Field, PositiveInt, ValidationError, model_validator

from orchestrator.exchange.imports.measurement import UNITS, ImportedMeasurement, dimension_of
from orchestrator.store.schema.tables import OURS, SYNTHETIC
from orchestrator.system.plain_data import Location
from orchestrator.system.problems import Problem, problems_in, raise_problems, read_source
from runner.contract.cell import Frozen
from runner.contract.errors import refuse_key, refuse_unknown

_HINT = (
    "a mapping names its source and columns, such as {source: lab, columns: {model: {from: name}, "
    "backend: {const: cpu}, latency_p50_s: {from: ms, unit: ms}}}"
)
TEXT_COLUMNS = frozenset(
    name
    for name, info in ImportedMeasurement.model_fields.items()
    if set(get_args(info.annotation) or (info.annotation,)) <= {str, NoneType}
) - {"location"}
SPECIAL_COLUMNS = frozenset({"status", "simulated", "measured_at", "durations_ns"})
_COLUMNS = tuple(
    name
    for name in ImportedMeasurement.model_fields
    if name not in {"location", "marks", "details", "libraries", "part_durations_ns"}
)
_UNIT_REQUIRED = frozenset({"seconds", "nanoseconds", "bytes", "joules"})

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
    """The unit of the value in the file."""
    values: dict[str, _Plain] | None = Field(default=None, min_length=1)
    """Our value for each value of the file, as text."""

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
    """The project that measured, for the records' `source`."""
    rows: str | None = Field(default=None, min_length=1)
    """Path of the rows in a JSON file, e.g. `results.*`; absent: the file's list, or the file."""
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """Separator of a CSV's columns."""
    columns: dict[str, ValueSource]
    """Sources of our columns' values."""
    libraries: dict[str, ValueSource] = Field(default_factory=dict)
    """Sources of the versions of libraries, by name."""


def read_mapping(path: Path) -> MappingFile:
    """Read a mapping from a YAML or JSON file."""
    source = read_source(path)
    if source.data is None:
        raise_problems(source, [Problem((), "is empty")], _HINT)
    try:
        mapping = MappingFile.model_validate(source.data)
    except ValidationError as error:
        raise_problems(source, [*problems_in(error, _keys_at), *_unknown(source.data)], _HINT)
        raise
    raise_problems(source, [*_unknown(source.data), *_flaws(mapping)], _HINT)
    return mapping


def _keys_at(location: Location) -> tuple[str, ...]:
    fields = ValueSource.model_fields if location else MappingFile.model_fields
    return tuple(info.alias or name for name, info in fields.items())


def _unknown(data: Any) -> Iterator[Problem]:
    columns = data.get("columns") if isinstance(data, dict) else None
    for name in columns if isinstance(columns, dict) else ():
        if name not in _COLUMNS:
            yield Problem(("columns", name), refuse_key(name, list(_COLUMNS)))


def _flaws(mapping: MappingFile) -> Iterator[Problem]:
    if mapping.source.strip().lower() in {OURS, SYNTHETIC}:
        yield Problem(("source",), f"{mapping.source!r} stands for rows of AccelMatrix alone")
    if "model" not in mapping.columns:
        yield Problem(("columns", "model"), "is required: no record is without its model")
    for name, origin in mapping.columns.items():
        if name in _COLUMNS:
            yield from _unit_flaws(name, origin)
    yield from _key_flaws(mapping)


def _unit_flaws(column: str, origin: ValueSource) -> Iterator[Problem]:
    path = ("columns", column, "unit")
    if column in TEXT_COLUMNS or (column in SPECIAL_COLUMNS and column != "durations_ns"):
        if origin.unit is not None:
            yield Problem(path, f"{column} has no unit")
        return
    dimension = dimension_of(column)
    if origin.unit is None and dimension in _UNIT_REQUIRED:
        yield Problem(path, f"is required: one of {', '.join(UNITS[dimension])}")
    elif origin.unit is not None and origin.unit not in UNITS[dimension]:
        yield Problem(path, refuse_unknown(origin.unit, tuple(UNITS[dimension])))


def _key_flaws(mapping: MappingFile) -> Iterator[Problem]:
    stars = (mapping.rows or "").split(".").count("*")
    tables: Mapping[str, Mapping[str, ValueSource]] = {
        "columns": mapping.columns,
        "libraries": mapping.libraries,
    }
    for table, origins in tables.items():
        for name, origin in origins.items():
            if origin.key is not None and origin.key > stars:
                message = f"{origin.key} is more than the {stars} `*` in rows"
                yield Problem((table, name, "key"), message)
