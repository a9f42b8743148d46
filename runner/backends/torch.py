"""PyTorch, eager."""

from collections.abc import Mapping
from pathlib import Path

import torch
from transformers.utils import logging

from runner.backends.base import Array, DeviceMemory, Query, Stage
from runner.backends.torch_device import MemoryGauge, wait_for
from runner.backends.torch_generation import TorchGenerator
from runner.backends.torch_model import fill_parameters, instantiate, restorer
from runner.backends.torch_outputs import all_tensors, float_arrays
from runner.backends.torch_proof import prove
from runner.backends.torch_query import Nothing, TorchQuery
from runner.backends.torch_trace import trace
from runner.backends.torch_training import TorchTrainer
from runner.cell import Backend, Cell, Job, Precision
from runner.errors import Unsupported
from runner.inputs import Inputs, tokens_to_generate
from runner.measure.clock import Clock, monotonic
from runner.measure.environment import read_environment, versions
from runner.record import Proof

DEVICES: Mapping[Backend, str] = {"cpu": "cpu"}
DTYPES: Mapping[Precision, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
}
LIBRARIES = ("torch", "transformers", "numpy", "safetensors", "tokenizers")
OUT_OF_MEMORY_MESSAGES = ("can't allocate memory", "not enough memory")


class TorchSession:
    """A model in eager mode on one device."""

    timed_region = "model forward; inputs and outputs stay on the device, which is synchronised"

    def __init__(self, job: Job, device: torch.device, dtype: torch.dtype) -> None:
        self.columns: Mapping[str, object] = {"inference_precision": str(dtype)}
        self._device = device
        self._dtype = dtype
        self._seed = job.seed
        self._constants = job.model.forward
        self._wait = wait_for(device)
        self._memory = MemoryGauge(device)
        start = monotonic()
        model = instantiate(job.model, dtype)
        instantiated = monotonic()
        fill_parameters(model, job.seed)
        self._model = model.to(device)
        self._wait()
        self.stages_ns: Mapping[Stage, int] = {
            "instantiate": instantiated - start,
            "weights": monotonic() - instantiated,
        }

    @property
    def device_name(self) -> str:
        """The processor's name: the CPU is the one device so far."""
        return read_environment().cpu_model

    @property
    def parameters(self) -> int:
        """Elements of all parameters; shared ones count once."""
        return sum(parameter.numel() for parameter in self._model.parameters())

    @property
    def threads(self) -> int:
        """Threads of torch's intra-operator pool."""
        return torch.get_num_threads()

    @property
    def interop_threads(self) -> int:
        """Threads of torch's inter-operator pool, which eager mode leaves idle."""
        return torch.get_num_interop_threads()

    @property
    def libraries(self) -> dict[str, str]:
        """Versions of torch and what stands on it."""
        return versions(LIBRARIES)

    def bind(self, cell: Cell, inputs: Inputs) -> TorchQuery:
        """Move the inputs to the device, floating ones in the job's precision."""
        del cell
        return TorchQuery(self._model, self._placed(inputs), self._constants, self._wait)

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchGenerator:
        """The same for a prompt."""
        return TorchGenerator(self._model, self._placed(inputs), tokens_to_generate(cell), clock)

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchTrainer:
        """The same for a batch with labels; the seed decides what dropout drops."""
        if cell.precision == "fp16":
            raise Unsupported("training in fp16 needs loss scaling, which this runner lacks")
        torch.manual_seed(self._seed)
        return TorchTrainer(
            self._model,
            self._placed(inputs),
            self._constants,
            clock,
            self._wait,
            restorer(self._model, self._seed),
        )

    def empty(self) -> TorchQuery:
        """A query over a model that computes nothing."""
        return TorchQuery(Nothing(), {}, {}, self._wait)

    def all_finite(self, outputs: object) -> bool:
        """Whether every output is finite."""
        tensors = all_tensors(outputs)
        if not tensors:
            raise Unsupported("the model gives no tensor that could be checked")
        return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)

    def arrays(self, outputs: object) -> dict[str, Array]:
        """The floating-point outputs as fp32, by dotted path."""
        return float_arrays(outputs)

    def prove(self, query: Query) -> tuple[Proof, dict[str, str]]:
        """Compare the devices of all tensors with the claimed one; time its kernels."""
        return prove(query, self._model, self._device)

    def trace(self, action: Query, stem: Path) -> None:
        """Profile one call with torch's profiler."""
        trace(action, stem, self._device)

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        """Memory of CUDA and ROCm devices."""
        return self._memory.read(reset=reset)

    def close(self) -> None:
        """Drop the model."""
        del self._model

    def _placed(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        return {name: self._place(torch.from_numpy(value)) for name, value in inputs.items()}

    def _place(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = self._dtype if tensor.is_floating_point() else tensor.dtype
        return tensor.to(self._device, dtype)


def open_session(job: Job, threads: int, graphs: Path | None = None) -> TorchSession:
    """Build the job's model on its device, with that many threads per operator."""
    del graphs
    cell = job.cells[0]
    if cell.backend not in DEVICES:
        raise Unsupported(f"the runtime torch has no device for backend {cell.backend}")
    if cell.precision not in DTYPES:
        raise Unsupported(f"the runtime torch has no precision {cell.precision} yet")
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    torch.set_num_threads(threads)
    return TorchSession(job, torch.device(DEVICES[cell.backend]), DTYPES[cell.precision])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch's allocator says that memory ran out."""
    text = str(error)
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError)
        and any(message in text for message in OUT_OF_MEMORY_MESSAGES)
    )
