"""The shape of a matrix file: every key a user may write, with its meaning and unit."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from orchestrator.matrix.combine import AxisValue
from orchestrator.matrix.unknown_models import MODEL_FILES
from orchestrator.matrix.values import (
    And,
    BackendValue,
    BytesValue,
    CountValue,
    DurationValue,
    Listed,
    PositiveDuration,
    ProfileValue,
    ShareValue,
    SideBySideValue,
    SizeValue,
    value_type,
)
from orchestrator.system.docstrings import describe_properties
from orchestrator.system.problems import quote
from runner.contract.axes import AXES, AxisName
from runner.contract.cell import Frozen
from runner.contract.models import catalogue, model_sets

FleetPlacement = Literal["any", "every"]
"""Each cell once on some class of hosts, or on every class that can measure it."""
_STRICT = ConfigDict(strict=True, extra="forbid")


def _not_empty(entry: object) -> object:
    if entry == {}:
        raise ValueError("must not be empty")
    return entry


def _version(value: object) -> object:
    if type(value) is not int or value != 1:
        raise ValueError(f"{quote(value)} is not 1, the only version there is")
    return value


def _without_backend(axes: object) -> object:
    if isinstance(axes, dict) and "backend" in axes:
        raise ValueError("cannot change the backend it belongs to: take 'backend' out")
    return axes


def _table(name: str, doc: str, fields: Mapping[str, Any]) -> Any:
    """A table of a matrix file with these keys, none of them required."""
    make: Any = TypedDict
    table = make(name, fields, total=False)
    table.__doc__ = doc
    return with_config(_STRICT)(table)


if TYPE_CHECKING:
    Axes = Mapping[AxisName, tuple[AxisValue, ...]]
    Entry = Mapping[AxisName, AxisValue]
else:
    Axes = _table(
        "Axes",
        "Lists of values for the fields of a cell; the matrix is their product.",
        {
            axis.name: Annotated[Listed[value_type(axis)], Field(description=axis.list_doc)]
            for axis in AXES
        },
    )
    Entry = _table(
        "Entry",
        "One value for some of the axes.",
        {axis.name: Annotated[value_type(axis), Field(description=axis.doc)] for axis in AXES},
    )


@with_config(_STRICT)
class MeasureTable(TypedDict, total=False):
    """Duration and repetition of the measurement of each cell."""

    profile: ProfileValue
    """The set of defaults that the other keys change: quick, standard (if not named) or audit."""
    warmup_iterations: SizeValue
    """Fewest warm-up iterations."""
    warmup_max_duration: PositiveDuration
    """Warm-up ends after this time even if the durations have not settled."""
    heat_duration: PositiveDuration
    """Time of iterations ahead of each launch's warm-up, so that the clock has come down to what
    the machine sustains; none if not named."""
    iterations: SizeValue
    """Fewest timed iterations."""
    min_duration: DurationValue
    """Least time of timed iterations."""
    max_duration: PositiveDuration
    """The steady phase ends after this time, provided one iteration was timed."""
    precision_target: ShareValue
    """Half the width of the median's 95 % interval, by the median, at which measuring may end."""
    rounds: CountValue
    """Fewest launches of each cell, with equal shares of iterations and time; the profile's if not
    named: 1 in quick, 3 in standard, 10 in audit."""
    max_rounds: CountValue
    """Most launches of a cell whose median is not precise before; the profile's if not named: 1 in
    quick, 12 in standard, 30 in audit."""
    side_by_side: SideBySideValue
    """Load cells together that differ in runtime, precision or threads alone, and let them work in
    turns, round by round, so that their ratios hold on a noisy machine (`auto`, if not named);
    those of several models too (`true`); or none (`false`)."""


@with_config(_STRICT)
class LimitsTable(TypedDict, total=False):
    """Limits of one job."""

    cell_timeout: PositiveDuration
    """Time that loading, and then each cell, may take; if not named, it follows from measure."""
    memory: BytesValue
    """Memory a job may use; if not named, a safety margin below the machine's memory."""
    cpus: SizeValue
    """CPUs a job is pinned to; if not named, one of each physical core of one NUMA node."""
    pids: SizeValue
    """Processes and threads a job may create."""
    output: BytesValue
    """Space that a job's output may take; if not named, it follows from what such jobs write."""


@with_config(_STRICT)
class FleetTable(TypedDict, total=False):
    """The use of a fleet, for `run --fleet`."""

    placement: FleetPlacement
    """`any`: each cell once, on a host that can measure it. `every`: each cell on every class of
    hosts that can. `any` if not named."""
    hosts: Listed[str]
    """Globs of names; only these hosts measure. All of them if not named."""


@with_config(_STRICT)
class BackendTable(TypedDict, total=False):
    """Overrides for one backend."""

    axes: Annotated[
        Axes, BeforeValidator(_without_backend), And(**{"not": {"required": ["backend"]}})
    ]
    """Lists that replace those of the matrix."""
    measure: MeasureTable
    """Single values that replace those of the matrix."""
    limits: LimitsTable
    """Single values that replace those of the matrix."""


Entries = Annotated[
    tuple[Annotated[Entry, BeforeValidator(_not_empty), And(minProperties=1)], ...],
    BeforeValidator(lambda value: tuple(value) if isinstance(value, list) else value),
]


class MatrixDocument(Frozen):
    """A matrix of benchmarks."""

    model_config = _STRICT

    version: Annotated[Literal[1], BeforeValidator(_version)]
    """Version of this file's format."""
    axes: Axes = Field(default_factory=dict)
    """Lists of values for the fields of a cell; the matrix is their product."""
    include: Entries = ()
    """Values added to the combinations they fit, or combinations of their own (as on GitHub)."""
    exclude: Entries = ()
    """Combinations to leave out; naming some of the axes is enough (as on GitHub)."""
    backends: dict[BackendValue, BackendTable] = Field(default_factory=dict)
    """Overrides for one backend."""
    measure: MeasureTable = Field(default_factory=MeasureTable)
    """Duration and repetition of the measurement of each cell."""
    limits: LimitsTable = Field(default_factory=LimitsTable)
    """Limits of one job."""
    fleet: FleetTable = Field(default_factory=FleetTable)
    """The use of a fleet, for `run --fleet`."""


def keys_at(path: Sequence[str | int]) -> list[str]:
    tables: dict[str, type] = {
        "include": Entry,
        "exclude": Entry,
        "measure": MeasureTable,
        "limits": LimitsTable,
        "fleet": FleetTable,
        "axes": Axes,
        "backends": BackendTable,
    }
    named = [step for step in reversed(path) if step in tables]
    table = tables[str(named[0])] if named else MatrixDocument
    return list(getattr(table, "model_fields", None) or table.__annotations__)


def matrix_json_schema() -> dict[str, Any]:
    schema = MatrixDocument.model_json_schema()
    describe_properties(schema, MatrixDocument)
    for table in (MeasureTable, LimitsTable, FleetTable, BackendTable):
        describe_properties(schema["$defs"][table.__name__], table)
    known = {"type": "string", "enum": [*catalogue(), *model_sets()]}
    endings = "|".join(re.escape(ending) for ending in MODEL_FILES)
    file = {"type": "string", "pattern": f"({endings})$|/"}
    axis = schema["$defs"]["Axes"]["properties"]["model"]
    listed = axis["anyOf"][-1] | {"items": {"anyOf": [known, file]}}
    axis["anyOf"] = [known, file, listed]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_without_titles(schema)}


def _without_titles(value: Any) -> Any:
    if isinstance(value, list):
        return [_without_titles(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _without_titles(item)
        for key, item in value.items()
        if not (key == "title" and isinstance(item, str))
    }
