"""The shape of a matrix file: every key a user may write, with its meaning and unit."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypedDict

from orchestrator.matrix.problems import one_of, shown
from orchestrator.units import parse_duration, parse_size
from runner.cell import Backend, Frozen, Mode, Precision, ProfileName, Runtime

Axis = Literal["model", "backend", "runtime", "precision", "batch_size", "sequence_length", "mode"]
AXES: tuple[Axis, ...] = get_args(Axis)
BACKENDS: tuple[Backend, ...] = get_args(Backend)
LARGEST = 1_000_000
"""The largest batch size and sequence length: beyond it is a typing error."""

T = TypeVar("T")
RuntimeChoice = Runtime | Literal["default"]
_STRICT = ConfigDict(strict=True, extra="forbid", use_attribute_docstrings=True)


def _choice(allowed: Sequence[str]) -> BeforeValidator:
    offered = [name for name in allowed if name != "fake"]

    def check(value: object) -> object:
        if value not in allowed:
            raise ValueError(one_of(value, offered))
        return value

    return BeforeValidator(check)


def _enum(allowed: Sequence[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": [name for name in allowed if name != "fake"]})


_RUNTIMES = ("default", *get_args(Runtime))
BackendValue = Annotated[Backend, _choice(BACKENDS), _enum(BACKENDS)]
RuntimeValue = Annotated[RuntimeChoice, _choice(_RUNTIMES), _enum(_RUNTIMES)]
PrecisionValue = Annotated[Precision, _choice(get_args(Precision))]
ModeValue = Annotated[Mode, _choice(get_args(Mode))]
ProfileValue = Annotated[ProfileName, _choice(get_args(ProfileName))]
SizeValue = Annotated[int, Field(ge=1, le=LARGEST)]
ModelValue = Annotated[str, Field(min_length=1)]


def _positive(parse: Callable[[object], float]) -> Callable[[object], float]:
    def check(value: object) -> float:
        if number := parse(value):
            return number
        raise ValueError(f"{value!r} is not above 0")

    return check


def _unit_schema(example: str) -> WithJsonSchema:
    return WithJsonSchema({"type": ["string", "number"], "examples": [example]})


DurationValue = Annotated[float, BeforeValidator(parse_duration), _unit_schema("90s")]
PositiveDuration = Annotated[float, BeforeValidator(_positive(parse_duration)), _unit_schema("20m")]
BytesValue = Annotated[int, BeforeValidator(parse_size), _unit_schema("8GiB")]


def _listed(value: object) -> object:
    if isinstance(value, dict):
        raise ValueError("must be a value or a list of values")
    if value == []:
        raise ValueError("must not be empty")
    return tuple(value) if isinstance(value, list) else (value,)


def _from_list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _without_repeats(values: tuple[T, ...]) -> tuple[T, ...]:
    seen: set[T] = set()
    for value in values:
        if value in seen:
            raise ValueError(f"{value!r} stands twice")
        seen.add(value)
    return values


def _not_empty(entry: object) -> object:
    if entry == {}:
        raise ValueError("must not be empty")
    return entry


def _version(value: object) -> object:
    if type(value) is not int or value != 1:
        raise ValueError(f"{shown(value)} is not 1, the only version there is")
    return value


def _without_backend(axes: object) -> object:
    if isinstance(axes, dict) and "backend" in axes:
        raise ValueError("cannot change the backend it belongs to: take 'backend' out")
    return axes


class _ScalarToo:
    """Tells the JSON schema that a single value may stand for a list of one."""

    def __get_pydantic_json_schema__(self, core: Any, schema_of: Any) -> Any:
        listed = schema_of(core) | {"minItems": 1, "uniqueItems": True}
        return {"anyOf": [listed["items"], listed]}


class _And:
    """Tells the JSON schema what a validator asks for beyond it."""

    def __init__(self, **rule: Any) -> None:
        self._rule = rule

    def __get_pydantic_json_schema__(self, core: Any, schema_of: Any) -> Any:
        return {"allOf": [schema_of(core), self._rule]}


Listed = Annotated[
    tuple[T, ...],
    BeforeValidator(_listed),
    AfterValidator(_without_repeats),
    _ScalarToo(),
]


@with_config(_STRICT)
class Axes(TypedDict, total=False):
    """Lists of values for the fields of a cell; the matrix is their product."""

    model: Listed[ModelValue]
    """Names of models, names of model sets, or files of custom models (.yaml, .yml, .json)."""
    backend: Listed[BackendValue]
    """Hardware paths; cpu if not named."""
    runtime: Listed[RuntimeValue]
    """The software that executes the graph; `default` is the backend's own choice."""
    precision: Listed[PrecisionValue]
    """Number formats of weights and arithmetic; fp32 if not named."""
    batch_size: Listed[SizeValue]
    """Samples in one query; 1 if not named."""
    sequence_length: Listed[SizeValue]
    """Tokens in one sample; 128 if not named; models that take no text ignore it."""
    mode: Listed[ModeValue]
    """What is measured; inference if not named."""


@with_config(_STRICT)
class Entry(TypedDict, total=False):
    """One value for some of the axes."""

    model: ModelValue
    """Name of a model, or of a model set for all models in it."""
    backend: BackendValue
    """The hardware path."""
    runtime: RuntimeValue
    """The software that executes the graph; `default` is the backend's own choice."""
    precision: PrecisionValue
    """Number format of weights and arithmetic."""
    batch_size: SizeValue
    """Samples in one query."""
    sequence_length: SizeValue
    """Tokens in one sample."""
    mode: ModeValue
    """What is measured."""


@with_config(_STRICT)
class MeasureTable(TypedDict, total=False):
    """How long and how often each cell is measured."""

    profile: ProfileValue
    """The set of defaults that the other keys change: quick, standard (if not named) or audit."""
    warmup_iterations: SizeValue
    """Fewest warm-up iterations."""
    warmup_max_duration: PositiveDuration
    """Warm-up ends after this time even if the durations have not settled."""
    iterations: SizeValue
    """Fewest timed iterations."""
    min_duration: DurationValue
    """Least time of timed iterations."""
    max_duration: PositiveDuration
    """The steady phase ends after this time, provided one iteration was timed."""


@with_config(_STRICT)
class LimitsTable(TypedDict, total=False):
    """What one job may use."""

    cell_timeout: PositiveDuration
    """Time that loading, and then each cell, may take."""
    memory: BytesValue
    """Memory a job may use; if not named, a safety margin below the machine's memory."""
    cpus: Annotated[float, Field(ge=0.01, le=LARGEST, allow_inf_nan=False)]
    """CPU cores a job may use; if not named, all of them."""
    pids: SizeValue
    """Processes and threads a job may create."""


@with_config(_STRICT)
class BackendTable(TypedDict, total=False):
    """What is different on one backend."""

    axes: Annotated[
        Axes, BeforeValidator(_without_backend), _And(**{"not": {"required": ["backend"]}})
    ]
    """Lists that replace those of the matrix."""
    measure: MeasureTable
    """Single values that replace those of the matrix."""
    limits: LimitsTable
    """Single values that replace those of the matrix."""


Entries = Annotated[
    tuple[Annotated[Entry, BeforeValidator(_not_empty), _And(minProperties=1)], ...],
    BeforeValidator(_from_list),
]


class MatrixFile(Frozen):
    """A matrix of benchmarks."""

    model_config = _STRICT

    version: Annotated[Literal[1], BeforeValidator(_version)]
    """Version of this file's format."""
    axes: Axes = Field(default_factory=Axes)
    """Lists of values for the fields of a cell; the matrix is their product."""
    include: Entries = ()
    """Values added to the combinations they fit, or combinations of their own (as on GitHub)."""
    exclude: Entries = ()
    """Combinations to leave out; naming some of the axes is enough (as on GitHub)."""
    backends: dict[BackendValue, BackendTable] = Field(default_factory=dict)
    """What is different on one backend."""
    measure: MeasureTable = Field(default_factory=MeasureTable)
    """How long and how often each cell is measured."""
    limits: LimitsTable = Field(default_factory=LimitsTable)
    """What one job may use."""


def keys_at(path: Sequence[str | int]) -> list[str]:
    """The keys that the table at a path allows."""
    tables: dict[str, type] = {
        "include": Entry,
        "exclude": Entry,
        "measure": MeasureTable,
        "limits": LimitsTable,
        "axes": Axes,
        "backends": BackendTable,
    }
    named = [step for step in reversed(path) if step in tables]
    table = tables[str(named[0])] if named else MatrixFile
    return list(getattr(table, "model_fields", None) or table.__annotations__)
