"""Imported measurements in base units, and the conversion of foreign quantities."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Context, Decimal
from functools import lru_cache
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field

from orchestrator.system.problems import quote
from runner.contract.cell import Frozen
from runner.contract.record.verdict import Status

_LARGEST = 2**63 - 1
_Positive = Annotated[int, Field(gt=0, le=_LARGEST)]
_Whole = Annotated[int, Field(ge=0, le=_LARGEST)]
_Number = Annotated[float, Field(ge=0, le=_LARGEST, allow_inf_nan=False)]
_FIRST, _LAST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)


def _text(value: object) -> object:
    """A text without the blanks around it; none of blanks alone."""
    return (value.strip() or None) if isinstance(value, str) else value


def moment_fault(moment: datetime) -> str | None:
    """The reason why a moment cannot be kept; None for one that has a name in every zone."""
    if _FIRST <= moment < _LAST:
        return None
    return f"{quote(moment.isoformat())} is not between 0001-01-02 and 9999-12-30, UTC"


def _moment(moment: datetime) -> datetime:
    if fault := moment_fault(moment):
        raise ValueError(fault)
    return moment


_Text = Annotated[str | None, BeforeValidator(_text)]
_Moment = Annotated[AwareDatetime, AfterValidator(_moment)]
_EXACT = Context(prec=60)

_VALUES: Mapping[str, Mapping[str, str | int | Decimal]] = {
    "seconds": {"s": 1, "ms": "1e-3", "us": "1e-6", "ns": "1e-9", "min": 60, "h": 3600},
    "nanoseconds": {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1},
    "bytes": {
        "B": 1,
        **{f"{letter}B": 1000**power for power, letter in enumerate("kMGT", 1)},
        **{f"{letter}iB": 1024**power for power, letter in enumerate("KMGT", 1)},
    },
    "joules": {"J": 1, "mJ": "1e-3", "kJ": 1000, "Wh": 3600, "kWh": 3_600_000},
    "per second": {
        "1/s": 1,
        "1/min": _EXACT.divide(Decimal(1), Decimal(60)),
        "1/h": _EXACT.divide(Decimal(1), Decimal(3600)),
    },
    "count": {"one": 1, "thousand": 10**3, "million": 10**6, "billion": 10**9},
}
UNITS: Mapping[str, Mapping[str, Decimal]] = {
    dimension: {unit: Decimal(value) for unit, value in values.items()}
    for dimension, values in _VALUES.items()
}
"""By dimension, the value of each unit in the base unit."""

_INTEGER_DIMENSIONS = frozenset({"bytes", "nanoseconds"})
_LONGEST_TIME_S = 10**10
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_NULL_WORDS = frozenset({"", "nan", "null", "none", "n/a", "na", "-"})
_LONGEST_NULL_WORD = max(map(len, _NULL_WORDS))


class ImportedMeasurement(Frozen):
    """One measurement or failure in base units, by our columns; null if the file lacks it.

    Nothing is derived, and numbers whose unit is not clear go into `details`.
    """

    location: str
    model: Annotated[str, BeforeValidator(_text)]
    family: _Text = None
    task: _Text = None
    modality: _Text = None
    backend: _Text = None
    """The hardware path in lower case, e.g. `cpu`, `cuda`, `webgpu`; need not be one of ours."""
    runtime: _Text = None
    """The software that executed it, e.g. `torch`; need not be one of ours."""
    precision: _Text = None
    batch_size: _Positive | None = None
    sequence_length: _Positive | None = None
    image_size: _Positive | None = None
    audio_seconds: _Positive | None = None
    new_tokens: _Positive | None = None
    mode: _Text = None
    """`inference`, `generation`, `training` or `startup`, where the file makes it clear."""
    scenario: _Text = None

    status: Status
    reason: _Text = None
    simulated: bool = False
    marks: tuple[str, ...] = ()
    """Those marks with their locations, e.g. `/is_simulation: true`."""

    measured_at: _Moment | None = None
    """Time of the measurement; a time without a zone is taken as UTC, and `details` says so."""
    device_name: _Text = None
    cpu_model: _Text = None
    cpu_cores_physical: _Positive | None = None
    cpu_cores_logical: _Positive | None = None
    memory_total_bytes: _Positive | None = None
    machine: _Text = None
    hostname: _Text = None
    operating_system: _Text = None
    python_version: _Text = None
    libraries: dict[str, str] = Field(default_factory=dict)

    iterations: _Whole | None = None
    warmup_iterations: _Whole | None = None
    parameters: _Whole | None = None
    import_time_s: _Number | None = None
    load_time_s: _Number | None = None
    first_latency_s: _Number | None = None
    steady_time_s: _Number | None = None
    throughput: _Number | None = None
    """Samples per second."""
    token_throughput: _Number | None = None
    """New tokens per second, prefill included."""
    decode_throughput: _Number | None = None
    """Tokens per second after the first."""
    latency_mean_s: _Number | None = None
    latency_median_s: _Number | None = None
    latency_min_s: _Number | None = None
    latency_max_s: _Number | None = None
    latency_stddev_s: _Number | None = None
    latency_p50_s: _Number | None = None
    latency_p90_s: _Number | None = None
    latency_p95_s: _Number | None = None
    latency_p99_s: _Number | None = None
    latency_p999_s: _Number | None = None
    time_to_first_token_mean_s: _Number | None = None
    time_per_output_token_mean_s: _Number | None = None
    """Per query, as MLPerf and vLLM have it."""
    inter_token_latency_mean_s: _Number | None = None
    """Of all gaps between tokens, pooled."""
    memory_peak_bytes: _Whole | None = None
    memory_average_bytes: _Whole | None = None
    memory_device_peak_bytes: _Whole | None = None
    memory_allocator_peak_bytes: _Whole | None = None
    energy_joules: _Number | None = None
    energy_per_sample_joules: _Number | None = None
    durations_ns: tuple[_Whole, ...] | None = None
    """Raw durations in the file's order, where it holds them."""
    part_durations_ns: dict[str, tuple[_Whole, ...]] = Field(default_factory=dict)
    """The same of an iteration's parts by name, e.g. `first_token`."""

    settings: _Text = None
    """Settings that no axis takes and that change what is measured, each as its name and value."""
    details: dict[str, str] = Field(default_factory=dict)
    """Other values of the file that no column takes, by their own (dotted) names."""


def is_null(value: object) -> bool:
    """True for null, NaN, and words for them such as `n/a`."""
    if isinstance(value, str):
        word = value.strip()
        return len(word) <= _LONGEST_NULL_WORD and word.lower() in _NULL_WORDS
    return value is None or (isinstance(value, float) and math.isnan(value))


@lru_cache
def dimension_of(column: str) -> str:
    """The dimension of one of our columns, from the end of its name."""
    if column.endswith("throughput"):
        return "per second"
    endings = {"s": "seconds", "ns": "nanoseconds", "bytes": "bytes", "joules": "joules"}
    return endings.get(column.rpartition("_")[2], "count")


def quantity(value: object, unit: str | None, dimension: str) -> int | float | None:
    """Convert a value to the base unit, rounded for bytes and nanoseconds; None for a null."""
    if is_null(value):
        return None
    units = UNITS[dimension]
    if unit is not None and unit not in units:
        raise ValueError(f"its unit {quote(unit)} is not one of {', '.join(units)}")
    scaled = _decimal(value)
    if unit is not None:
        scaled = _EXACT.multiply(scaled, units[unit])
    if scaled < 0:
        raise ValueError(f"{quote(value)} is negative")
    if scaled > (_LONGEST_TIME_S if dimension == "seconds" else _LARGEST):
        raise ValueError(f"{quote(value)} is not a number that can be kept")
    if dimension in _INTEGER_DIMENSIONS:
        return round(scaled)
    return int(scaled) if scaled == scaled.to_integral_value() else float(scaled)


def _decimal(value: object) -> Decimal:
    if isinstance(value, int) and not isinstance(value, bool):
        return Decimal(value)
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        value = float(value)
    if isinstance(value, float) and math.isfinite(value):
        return Decimal(repr(value))
    raise ValueError(f"{quote(value)} is not a number")


def flatten(value: Any, name: str = "") -> dict[str, str]:
    """All values that are not null as text, by dotted names; a list of plain values is one text."""
    if isinstance(value, dict | list):
        return dict(_leaves(value, name))
    return {} if is_null(value) else {name: as_text(value)}


def as_text(value: Any) -> str:
    """A plain value as JSON would write it, text without its quotation marks."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _leaves(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _leaves(item, f"{name}.{key}" if name else str(key))
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        for position, item in enumerate(value):
            yield from _leaves(item, f"{name}[{position}]")
    elif value != [] and not is_null(value):
        yield name, as_text(value)
