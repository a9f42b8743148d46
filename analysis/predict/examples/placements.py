"""Placements: cells on devices, with everything that a prediction may rest on, and its targets."""

import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

from pydantic import BeforeValidator, PlainSerializer

from analysis.results.metrics import METRICS
from runner.contract.axes import Mode
from runner.contract.cell import Cell
from runner.contract.models import ModelSpec

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")
_PORTS = re.compile(r"^(?:tf|tv|gluon|legacy|ssl|swsl|ig|timm)_(?=[a-z])")
"""Prefixes that say whose weights or code it is: the architecture behind them is the same."""
_STEM = re.compile(r"((?:eca|test)_)?[a-z]+?(?:v\d)?(?=[\d_\-]|$)")
"""The letters that a name begins with and the version behind them, e.g. `swinv2`; a word that
stands for a part which many architectures may have does not name one."""
PREDICTED_MODES = ("inference", "generation", "training")
Quantity: TypeAlias = Literal["time", "memory", "energy"]


def _key(data: Any) -> Any:
    return tuple(map(_key, data)) if isinstance(data, list) else data


def _mapping(pairs: Iterable[tuple[Any, Any]] | Mapping[Any, Any]) -> Mapping[Any, Any]:
    items = pairs.items() if isinstance(pairs, Mapping) else pairs
    return {_key(key): value for key, value in items}


Pairs: TypeAlias = Annotated[
    Mapping[_Key, _Value],
    BeforeValidator(_mapping),
    PlainSerializer(lambda mapping: [*mapping.items()], when_used="json"),
]
PlainKey: TypeAlias = Annotated[Hashable, BeforeValidator(_key)]


@lru_cache(maxsize=8192)
def plain_name(model: str) -> str:
    """The name without an owner before it, and without the tag of its weights behind it."""
    name = model.rsplit("/", 1)[-1].lower()
    name = re.sub(r"\.[a-z][a-z0-9_.]*$", "", name)
    return _PORTS.sub("", name)


@lru_cache(maxsize=8192)
def architecture_of(model: str) -> str:
    """The architecture that a name begins with, e.g. `resnet` of `resnet50.a1_in1k`."""
    match = _STEM.match(plain_name(model))
    return match[0] if match else plain_name(model)


@lru_cache(maxsize=8192)
def words_of(model: str) -> tuple[str, ...]:
    """The parts of a name, e.g. `vit`, `base`, `patch16` and `224`."""
    return tuple(dict.fromkeys(filter(None, re.split(r"[_\-.]+", plain_name(model)))))


@lru_cache(maxsize=8192)
def line_of(model: str) -> str:
    """The letters of a name's first two words, e.g. `vit relpos` of `vit_relpos_base_patch16`."""
    return " ".join(re.sub(r"[^a-z]", "", word) for word in words_of(model)[:2])


def architecture_in(config: Mapping[str, Any]) -> str:
    return str(config.get("model_type") or "unknown")


@dataclass(frozen=True, slots=True)
class Device:
    """A device, and its peaks in one precision."""

    key: str
    """The machine's id where its runs tell one, else the device's name."""
    name: str
    kind: str
    """`cpu`, `gpu` or `npu`: devices of one kind are alike."""
    flops_per_s: float
    bytes_per_s: float
    measured: bool
    """True if jobs on it measured the peaks; False where a data sheet tells them."""


@dataclass(frozen=True)
class KnownMachine:
    """A machine that examples were measured on, or that a data sheet describes."""

    key: str
    """Its id where its runs tell one, else its device's name."""
    name: str
    backends: tuple[str, ...]
    """The backends that were measured on it; those that it could have where none was."""
    devices: Mapping[str, Device]
    software: Pairs[tuple[str, str], str]
    threads: int | None
    memory_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """The counted work of one query, step or generation."""

    flops: float
    traffic_bytes: float
    """Bytes that must be read or written however large caches are."""
    activation_bytes: float
    weight_bytes: float
    parameters: float
    depth: float | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """One cell on one device."""

    model: str
    architecture: str
    """The family of architectures, e.g. `bert` or `resnet`."""
    device: Device
    backend: str
    runtime: str
    precision: str
    mode: Mode
    software: str
    """The version of the runtime and what else of it changes speed, e.g. `2.4 nhwc`."""
    batch_size: int
    length: int | None
    """Tokens, seconds or pixels along a side of one sample; None where the model fixes it."""
    new_tokens: int | None
    threads: int | None
    counts: Counts

    @property
    def configuration(self) -> tuple[str, ...]:
        return (self.device.key, *self.path, self.precision, self.mode, self.software)

    @property
    def path(self) -> tuple[str, str]:
        return (self.backend, self.runtime)


@dataclass(frozen=True, slots=True)
class Example:
    """A placement with a value that was measured there."""

    placement: Placement
    value: float
    """Above 0, in the target's unit."""
    source: str
    """The one who measured: ourselves or an imported project."""


@dataclass(frozen=True)
class Target:
    """A number of results that is predicted."""

    name: str
    column: str
    quantity: Quantity
    label: str
    unit: str
    more_is_better: bool = False

    def amount(self, value: float, placement: Placement) -> float:
        """The amount that one query takes: seconds, bytes or joules."""
        if self.name == "throughput":
            return placement.batch_size / value
        return value * placement.batch_size if self.name == "energy" else value

    def value(self, amount: float, placement: Placement) -> float:
        """The number of results that such an amount for one query makes."""
        if self.name == "throughput":
            return placement.batch_size / amount
        return amount / placement.batch_size if self.name == "energy" else amount


@dataclass(frozen=True)
class ExampleRows:
    """Results with their placements, of which each target takes those that have its value."""

    rows: Sequence[Mapping[str, Any]]
    placements: Sequence[Placement]
    left_out: Mapping[str, int]

    def examples(self, target: Target) -> list[Example]:
        return [
            Example(placement, value, row["source"])
            for row, placement in zip(self.rows, self.placements, strict=True)
            if (value := row[target.column]) and 0 < value < math.inf
        ]


def _of_metric(name: str, column: str, quantity: Quantity, unit: str) -> Target:
    metric = METRICS[name]
    return Target(name, column, quantity, metric.label, unit, metric.more_is_better)


PREDICTION_TARGETS: Mapping[str, Target] = {
    target.name: target
    for target in (
        _of_metric("latency", "latency_median_s", "time", "s"),
        _of_metric("throughput", "throughput", "time", "samples/s"),
        _of_metric("memory", "memory_peak_bytes", "memory", "bytes"),
        _of_metric("energy", "energy_per_sample_joules", "energy", "J"),
    )
}


def unpredicted_part(cell: Cell) -> str | None:
    """The mode or scenario of a cell that predictions answer nothing about; None if they answer."""
    if cell.mode not in PREDICTED_MODES:
        return f"mode {cell.mode}"
    if cell.scenario != "single_stream":
        return f"scenario {cell.scenario}"
    return None


def cell_placement(
    cell: Cell,
    model: ModelSpec,
    device: Device,
    counts: Counts,
    *,
    software: str,
    threads: int | None,
) -> Placement:
    """The cell on a device, where the runtime uses so many threads if the cell names no number."""
    return Placement(
        model=plain_name(model.name),
        architecture=architecture_in(model.config),
        device=device,
        backend=cell.backend,
        runtime=cell.runtime,
        precision=cell.precision,
        mode=cell.mode,
        software=software,
        batch_size=cell.batch_size,
        length=cell.sequence_length or cell.image_size or cell.audio_seconds,
        new_tokens=cell.new_tokens,
        threads=cell.threads or threads,
        counts=counts,
    )
