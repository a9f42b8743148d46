"""The shape of a matrix file: every key a user may write, with its meaning and unit."""

import re
from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, with_config
from typing_extensions import TypedDict

from orchestrator.matrix.values import (
    FILES,
    LARGEST,
    And,
    BackendValue,
    BytesValue,
    CountValue,
    DurationValue,
    Listed,
    ModelValue,
    ModeValue,
    PositiveDuration,
    PrecisionValue,
    ProfileValue,
    RateValue,
    RuntimeValue,
    ScenarioValue,
    ShareValue,
    SizeValue,
    SloValue,
)
from orchestrator.system.problems import quote
from runner.contract.cell import Frozen
from runner.contract.models import catalogue, model_sets

Axis = Literal[
    "model",
    "backend",
    "runtime",
    "precision",
    "batch_size",
    "sequence_length",
    "image_size",
    "audio_seconds",
    "new_tokens",
    "mode",
    "scenario",
    "target_qps",
    "slo_ms",
]
AXES: tuple[Axis, ...] = get_args(Axis)
_STRICT = ConfigDict(strict=True, extra="forbid", use_attribute_docstrings=True)


def _from_list(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


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
    """Tokens in one sample, those of the prompt; 128, or all it takes if less, if not named."""
    image_size: Listed[SizeValue]
    """Height and width of an image, pixels; the model's own if not named; not if it is fixed."""
    audio_seconds: Listed[SizeValue]
    """Seconds of sound in one sample; the model's own if not named; not where it is fixed."""
    new_tokens: Listed[SizeValue]
    """Tokens to generate for each sample; 32 if not named; mode generation alone."""
    mode: Listed[ModeValue]
    """What is measured; inference if not named."""
    scenario: Listed[ScenarioValue]
    """How queries arrive; single_stream if not named; the others are for mode inference alone."""
    target_qps: Listed[RateValue]
    """Queries per second that scenario server offers; find_peak, the highest, if not named."""
    slo_ms: Listed[SloValue]
    """Milliseconds that 99 % of queries must meet at the rate sought; 100 if not named."""


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
    """Tokens in one sample, those of the prompt."""
    image_size: SizeValue
    """Height and width of an image, pixels."""
    audio_seconds: SizeValue
    """Seconds of sound in one sample."""
    new_tokens: SizeValue
    """Tokens to generate for each sample."""
    mode: ModeValue
    """What is measured."""
    scenario: ScenarioValue
    """How queries arrive."""
    target_qps: RateValue
    """Queries per second that scenario server offers, or find_peak."""
    slo_ms: SloValue
    """Milliseconds that 99 % of queries must meet at the rate sought."""


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
    precision_target: ShareValue
    """Half the width of the median's 95 % interval, by the median, at which measuring may end."""
    rounds: CountValue
    """Visits over which each cell's iterations are spread, so that drift shows; 1 if not named."""
    workers: CountValue
    """Processes that load at once in mode startup; as many as there are cores if not named."""


@with_config(_STRICT)
class LimitsTable(TypedDict, total=False):
    """What one job may use."""

    cell_timeout: PositiveDuration
    """Time that loading, and then each cell, may take; if not named, it follows from measure."""
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
        Axes, BeforeValidator(_without_backend), And(**{"not": {"required": ["backend"]}})
    ]
    """Lists that replace those of the matrix."""
    measure: MeasureTable
    """Single values that replace those of the matrix."""
    limits: LimitsTable
    """Single values that replace those of the matrix."""


Entries = Annotated[
    tuple[Annotated[Entry, BeforeValidator(_not_empty), And(minProperties=1)], ...],
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


def matrix_json_schema() -> dict[str, Any]:
    """The schema that `docs/matrix.schema.json` holds."""
    schema = MatrixFile.model_json_schema()
    known = {"type": "string", "enum": [*catalogue(), *model_sets()]}
    endings = "|".join(re.escape(ending) for ending in FILES)
    file = {"type": "string", "pattern": f"({endings})$"}
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
