"""Placements: cells on devices, with everything that a prediction may rest on."""

from collections.abc import Mapping
from dataclasses import dataclass

from analysis.predict.examples.keys import Pairs
from runner.contract.cell import Mode


@dataclass(frozen=True, slots=True)
class Device:
    """A device, and its peaks in one precision."""

    key: str
    """The machine's id where its runs tell one, else the device's name."""
    name: str
    """The name that its runs report."""
    kind: str
    """`cpu`, `gpu` or `npu`: devices of one kind are alike."""
    flops_per_s: float
    """Arithmetic at its peak in the placement's precision."""
    bytes_per_s: float
    """Memory traffic at its peak."""
    measured: bool
    """True if jobs on it measured the peaks; False where a data sheet tells them."""


@dataclass(frozen=True)
class KnownMachine:
    """A machine that examples were measured on, or that a data sheet describes."""

    key: str
    """Its id where its runs tell one, else its device's name."""
    name: str
    """The name of its device."""
    backends: tuple[str, ...]
    """The backends that were measured on it; those that it could have where none was."""
    devices: Mapping[str, Device]
    """The device with its peaks, by precision."""
    software: Pairs[tuple[str, str], str]
    """The newest software of each backend and runtime on it."""
    threads: int | None
    """The threads that runtimes used on it; None where no run tells."""
    memory_bytes: int | None = None
    """The memory of the accelerator, or of the machine; None where nobody knows."""


@dataclass(frozen=True, slots=True)
class Counts:
    """The counted work of one query, step or generation."""

    flops: float
    """Floating-point operations."""
    traffic_bytes: float
    """Bytes that must be read or written however large caches are."""
    activation_bytes: float
    """Bytes that products and convolutions put out."""
    weight_bytes: float
    """Bytes of all parameters in this precision."""
    parameters: float
    depth: float | None = None
    """Layers one behind the other; None where nobody knows."""


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
    """Threads that the runtime used."""
    counts: Counts

    @property
    def configuration(self) -> tuple[str, ...]:
        """Everything but model and sizes."""
        return (self.device.key, *self.path, self.precision, self.mode, self.software)

    @property
    def path(self) -> tuple[str, str]:
        """Backend and runtime."""
        return (self.backend, self.runtime)


@dataclass(frozen=True, slots=True)
class Example:
    """A placement with a value that was measured there."""

    placement: Placement
    value: float
    """Above 0, in the target's unit."""
    source: str
    """The one who measured: ourselves or an imported project."""
