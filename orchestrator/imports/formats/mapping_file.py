"""A mapping file: which of somebody's own columns or paths fill which of ours, in which unit."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import NoneType
from typing import Any, get_args

from pydantic import ConfigDict, Field, PositiveInt, ValidationError, model_validator

from orchestrator.imports.measurement import UNITS, Found, dimension_of
from orchestrator.store import OURS, SYNTHETIC
from orchestrator.system.problems import (
    Problem,
    not_one_of,
    problems_in,
    raise_problems,
    unknown_key,
)
from orchestrator.system.yaml_file import Location, read_source
from runner.contract.cell import Frozen

HINT = "docs/import.md describes the mapping file"
TEXTS = frozenset(
    name
    for name, info in Found.model_fields.items()
    if set(get_args(info.annotation) or (info.annotation,)) <= {str, NoneType}
) - {"place"}
SPECIAL = frozenset({"status", "simulated", "measured_at", "durations_ns"})
COLUMNS = tuple(
    name
    for name in Found.model_fields
    if name not in {"place", "marks", "details", "libraries", "part_durations_ns"}
)
UNIT_REQUIRED = frozenset({"seconds", "nanoseconds", "bytes", "joules"})

Plain = str | int | float | bool


class Origin(Frozen):
    """Where a column's value comes from: exactly one of `from`, `const` and `key`."""

    model_config = ConfigDict(strict=True)

    from_: str | None = Field(default=None, alias="from", min_length=1)
    """The CSV's column, or the path in a JSON row; a path that starts with `/` is the file's."""
    const: Any = None
    """The value itself, for what the file lacks."""
    key: PositiveInt | None = None
    """The name that the first, second, … `*` of `rows` stands for."""
    unit: str | None = None
    """The unit of the value in the file."""
    values: dict[str, Plain] | None = Field(default=None, min_length=1)
    """What the file's words mean: its value as text, and ours."""

    @model_validator(mode="after")
    def _one_of_them(self) -> "Origin":
        given = [getattr(self, name) for name in ("from_", "const", "key")]
        if given.count(None) != len(given) - 1:
            raise ValueError("must name exactly one of from, const and key")
        if not isinstance(self.const, Plain | None):
            raise ValueError("const must be text, a number, true or false")
        return self

    @property
    def name(self) -> str:
        """What errors call the value."""
        return self.from_ or f"the mapping's {f'key {self.key}' if self.key else 'const'}"


class MappingFile(Frozen):
    """The whole file."""

    model_config = ConfigDict(strict=True)

    source: str = Field(min_length=1)
    """Who measured, as the records shall name it."""
    rows: str | None = Field(default=None, min_length=1)
    """Path of the rows in a JSON file, e.g. `results.*`; absent: the file's list, or the file."""
    delimiter: str = Field(default=",", min_length=1, max_length=1)
    """What separates a CSV's columns."""
    columns: dict[str, Origin]
    """Our columns, and where their values come from."""
    libraries: dict[str, Origin] = Field(default_factory=dict)
    """Names of libraries, and where their versions come from."""


def read_mapping(path: Path) -> MappingFile:
    """The mapping that a YAML or JSON file describes.

    Raises:
        UsageError: it is wrong; one line for each problem, with place and value.
    """
    source = read_source(path)
    if source.data is None:
        raise_problems(source, [Problem((), "is empty")], HINT)
    try:
        mapping = MappingFile.model_validate(source.data)
    except ValidationError as error:
        raise_problems(source, [*problems_in(error, _keys_at), *_unknown(source.data)], HINT)
        raise
    raise_problems(source, [*_unknown(source.data), *_flaws(mapping)], HINT)
    return mapping


def _keys_at(place: Location) -> tuple[str, ...]:
    fields = Origin.model_fields if place else MappingFile.model_fields
    return tuple(info.alias or name for name, info in fields.items())


def _unknown(data: Any) -> Iterator[Problem]:
    columns = data.get("columns") if isinstance(data, dict) else None
    for name in columns if isinstance(columns, dict) else ():
        if name not in COLUMNS:
            yield Problem(("columns", name), unknown_key(name, COLUMNS))


def _flaws(mapping: MappingFile) -> Iterator[Problem]:
    if mapping.source.strip().lower() in {OURS, SYNTHETIC}:
        yield Problem(("source",), f"{mapping.source!r} stands for rows of AccelMatrix alone")
    if "model" not in mapping.columns:
        yield Problem(("columns", "model"), "is required: no record is without its model")
    for name, origin in mapping.columns.items():
        if name in COLUMNS:
            yield from _unit_flaws(name, origin)
    yield from _key_flaws(mapping)


def _unit_flaws(column: str, origin: Origin) -> Iterator[Problem]:
    place = ("columns", column, "unit")
    if column in TEXTS or (column in SPECIAL and column != "durations_ns"):
        if origin.unit is not None:
            yield Problem(place, f"{column} has no unit")
        return
    dimension = dimension_of(column)
    if origin.unit is None and dimension in UNIT_REQUIRED:
        yield Problem(place, f"is required: one of {', '.join(UNITS[dimension])}")
    elif origin.unit is not None and origin.unit not in UNITS[dimension]:
        yield Problem(place, not_one_of(origin.unit, tuple(UNITS[dimension])))


def _key_flaws(mapping: MappingFile) -> Iterator[Problem]:
    stars = (mapping.rows or "").split(".").count("*")
    tables: Mapping[str, Mapping[str, Origin]] = {
        "columns": mapping.columns,
        "libraries": mapping.libraries,
    }
    for table, origins in tables.items():
        for name, origin in origins.items():
            if origin.key is not None and origin.key > stars:
                told = f"{origin.key} is more than the {stars} `*` in rows"
                yield Problem((table, name, "key"), told)
