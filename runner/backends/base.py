"""The interface between runtimes and the harness, and the meaning of their errors."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from runner.backends.peaks import PeakKernels
from runner.contract.cell import Cell
from runner.contract.errors import TimedOut, Unavailable, Unsupported
from runner.contract.job import Job
from runner.contract.record.verdict import Proof
from runner.inputs import Inputs
from runner.measure.clock import Clock
from runner.measure.energy import EnergyDevice

FloatArray = npt.NDArray[np.float32]
Stage = Literal["interpreter", "import", "instantiate", "weights"]
"""A stage of loading; the first two are those of a session whose runtime starts elsewhere."""
FailureKind = Literal["unsupported", "unavailable", "out_of_memory", "timeout", "failed"]
Region = Literal["host", "device", "host_to_host"]
"""The region that a query's time spans: `device` has inputs and outputs on an accelerator,
`host_to_host` both copies inside; on a `host` they are the same."""
ProofEvidence = tuple[Proof, dict[str, str]]
"""A proof, and the evidence behind it, by name."""
MOST_SKIPPED = 24
"""Steps until the loss' scale of fp16, which begins at 2^16, lets one pass: it falls by half."""


class Query(Protocol):
    """One bound query: inputs are on the device, the shape is fixed."""

    def __call__(self) -> object:
        """Execute, wait until the device has finished, return the outputs."""


Iteration = Callable[[], AbstractContextManager[Callable[[], object]]]
"""Binds what a mode repeats, a whole generation or training step, until its context ends."""


@dataclass(frozen=True)
class Generated:
    """The tokens of one generation, and their times."""

    started_ns: int
    """The clock as the prompt went in."""
    token_times_ns: list[int]
    """The clock as each step's tokens, one per sample, had reached the host."""
    tokens: npt.NDArray[np.int64]
    """The new tokens, shape [batch_size, steps]."""


class Generator(Protocol):
    """One bound prompt, from which a forced number of tokens is generated greedily."""

    def __call__(self) -> Generated:
        """Generate once, with a key-value cache; the first token comes with its filling."""

    def forced(self, tokens: npt.NDArray[np.int64]) -> FloatArray:
        """The logits before each of these tokens [batch, steps], which the same loop takes."""


@dataclass(frozen=True)
class TrainingStep:
    """Durations of a step's parts and the clock around them, nanoseconds; and the step's loss."""

    started_ns: int
    forward_ns: int
    loss_ns: int | None
    """None where the model computes the loss inside its forward pass."""
    backward_ns: int
    optimizer_ns: int
    ended_ns: int
    loss: float
    skipped: bool = False
    """True if the optimizer took no step, since a scaled gradient was not finite."""


@dataclass(frozen=True)
class Rehearsal:
    """One observed step: arrays by the parameter's name, small enough to be kept."""

    loss: float
    gradients: Mapping[str, FloatArray]
    """Each parameter's gradient, or a sketch of it; empty if the optimizer took no step."""
    updates: Mapping[str, FloatArray]
    """The step's changes of some elements of each parameter."""


class Trainer(Protocol):
    """One bound batch with labels, and an optimizer over all parameters."""

    def step(self) -> TrainingStep:
        """Forward, loss, backward, optimizer; the device has finished when it returns."""

    def unchanged(self) -> tuple[str, ...]:
        """The names of parameters with a gradient none of whose kept elements has changed."""

    def untaught(self) -> tuple[str, ...]:
        """The names of parameters in whose layer each gradient was 0; weights change by decay."""

    def changed_share(self) -> float:
        """The share of kept elements, of parameters that had a gradient, that one has changed."""

    @property
    def scale(self) -> float | None:
        """The factor of the loss by which gradients stay within fp16; None without one."""

    def rehearse(self) -> Rehearsal:
        """Take a step as it is timed, with dropout off, in the place of all timed steps."""

    def close(self) -> None:
        """Free gradients and the optimizer's state; the session answers queries again."""


@dataclass(frozen=True)
class DeviceMemory:
    """Memory of an accelerator, bytes."""

    allocator_peak_bytes: int | None
    """Highest use that the runtime's allocator saw since the last reset; None if it keeps none."""
    used_bytes: int
    """Use of the whole device now, as its driver counts it, less its use before the load."""


@dataclass(frozen=True)
class PageMemory:
    """Memory that a page holds between two queries, bytes."""

    wasm_bytes: int
    """Of all its memories of WebAssembly, which never shrink."""
    gpu_buffer_bytes: int | None
    """Of its buffers of WebGPU; None where it does not use that."""
    gpu_buffer_peak_bytes: int | None
    """Highest since the page began; None likewise."""


@runtime_checkable
class InPage(Protocol):
    """A session whose model lies in a page."""

    def page_memory(self) -> PageMemory:
        """The page's memory, as hooks in it count it."""


@runtime_checkable
class ShowsWeights(Protocol):
    """A session whose runtime shows the parameters that it computes with."""

    def weights(self) -> Mapping[str, FloatArray]:
        """Evenly spaced elements of each parameter, by its name."""


@runtime_checkable
class ShowsProducts(Protocol):
    """A session whose runtime tells in which types of numbers it multiplies."""

    @property
    def products(self) -> Mapping[str, int] | None:
        """Products by the type of their narrower operand, as last proven; None if unseen."""


class Session(Protocol):
    """A loaded model, ready to take queries of any shape of its job."""

    @property
    def device_name(self) -> str:
        """The physical device that was found."""

    @property
    def parameters(self) -> int:
        """Parameters of the loaded model; shared ones count once."""

    @property
    def threads(self) -> int | None:
        """Threads that one operator may use; None if the runtime does not report it."""

    @property
    def interop_threads(self) -> int | None:
        """Operators that may execute at once; None if the runtime does not report it."""

    @property
    def libraries(self) -> Mapping[str, str]:
        """Versions of the libraries that take part."""

    @property
    def columns(self) -> Mapping[str, object]:
        """Columns of a record; those that depend on the shape are of the cell bound last."""

    @property
    def energy_device(self) -> EnergyDevice:
        """The facts that decide, beside backend and UUID, whose energy counts."""

    @property
    def stages_ns(self) -> Mapping[Stage, int]:
        """Durations of the stages of loading, nanoseconds."""

    @property
    def timed_region(self) -> str:
        """Description of the work between the two clock readings of a query."""

    @property
    def clock_resolution_s(self) -> float | None:
        """Resolution of the clock of queries that are timed elsewhere; None if none is."""

    @property
    def region(self) -> Region:
        """The region that a query's time spans."""

    def bind(self, cell: Cell, inputs: Inputs) -> Query:
        """Move the inputs to the device and return the query over them."""

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> Query:
        """The same, with inputs and outputs in host memory, each copied in every call."""

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> Generator:
        """The generator of `cell.new_tokens` tokens after the prompt; or `Unsupported`."""

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> Trainer:
        """The trainer over inputs that hold `labels` too; or `Unsupported`."""

    def empty(self) -> Query:
        """A query over a model that computes nothing, called as a real one is."""

    def peak_kernels(self) -> PeakKernels | None:
        """Kernels that show the device's roofs; None where times say nothing of a device."""

    def all_finite(self, outputs: object) -> bool:
        """True if outputs hold neither NaN nor infinity; `Unsupported` if there are none."""

    def arrays(self, outputs: object) -> Mapping[str, FloatArray]:
        """A query's floating-point outputs on the host, by dotted path, without caches."""

    def prove(self, query: Query, iteration: Iteration | None = None) -> ProofEvidence:
        """Prove that the claimed device holds model, inputs and outputs; return the evidence too.

        Runs the query once, untimed. On an accelerator it also runs the iteration (the query, if
        None) with and without a profiler, and adds `kernel_share`, the time in which kernels ran
        by the iteration's; or `kernel_share_missing`, the reason why nothing tells of them. Where
        launches are seen, `launch_share` also counts the time in which the host launched kernels.
        """

    def trace(self, action: Query, stem: Path) -> None:
        """Profile one untimed call into `<stem>.trace.json` and `<stem>.operators.txt`."""

    def trim(self) -> None:
        """Free memory kept for earlier queries, between cells: none is called again."""

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        """The accelerator's memory; None on devices that use the host's. `reset` begins a peak."""

    def close(self) -> None:
        """Free the model and everything else that the session holds."""


class RuntimeModule(Protocol):
    """A package or module of `RUNTIME_MODULES`. Importing it imports the runtime's libraries."""

    def open_session(self, job: Job, threads: int, graphs: Path | None = None) -> Session:
        """Load the model, or `job.graph` among `graphs`; or `Unsupported`, `Unavailable`."""

    def is_out_of_memory(self, error: BaseException) -> bool:
        """True if the error is this runtime's way to say that memory ran out."""


def failure_kind(error: BaseException, runtime: RuntimeModule | None) -> FailureKind:
    """The status that the error means; `runtime` is None before it has been imported."""
    if isinstance(error, Unsupported):
        return "unsupported"
    if isinstance(error, Unavailable):
        return "unavailable"
    if isinstance(error, TimedOut):
        return "timeout"
    return "out_of_memory" if ran_out_of_memory(error, runtime) else "failed"


def ran_out_of_memory(error: BaseException, runtime: RuntimeModule | None) -> bool:
    """True if Python or the runtime says by that error that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    return runtime is not None and runtime.is_out_of_memory(error)
