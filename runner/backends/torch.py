"""PyTorch, eager."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import torch

from runner.backends.torch_model import build_model
from runner.cell import Backend, Cell, Job, Precision
from runner.errors import Unsupported
from runner.inputs import Inputs
from runner.measure.environment import read_environment, versions
from runner.record import Proof

DEVICES: Mapping[Backend, str] = {"cpu": "cpu"}
DTYPES: Mapping[Precision, torch.dtype] = {"fp32": torch.float32, "bf16": torch.bfloat16}
LIBRARIES = ("torch", "transformers", "numpy", "safetensors", "tokenizers")
OUT_OF_MEMORY_MESSAGES = ("can't allocate memory", "not enough memory")


class TorchSession:
    """A model in eager mode on one device."""

    timed_region = "model forward; inputs and outputs stay on the device, which is synchronised"

    def __init__(self, job: Job, device: torch.device, dtype: torch.dtype) -> None:
        self._device = device
        self._dtype = dtype
        self._forward = job.model.forward
        self._model = build_model(job.model, job.seed, dtype).to(device)
        self._tensors: dict[str, torch.Tensor] = {}

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
    def libraries(self) -> dict[str, str]:
        """Versions of torch and what stands on it."""
        return versions(LIBRARIES)

    def bind(self, cell: Cell, inputs: Inputs) -> "TorchQuery":
        """Move the inputs to the device, floating ones in the job's precision."""
        del cell
        self._tensors = {
            name: self._place(torch.from_numpy(value)) for name, value in inputs.items()
        }
        return TorchQuery(self._model, {**self._tensors, **self._forward})

    def all_finite(self, outputs: object) -> bool:
        """Whether every floating-point output is finite."""
        tensors = list(_tensors(outputs))
        if not tensors:
            raise Unsupported("the model gives no tensor that could be checked")
        return all(bool(torch.isfinite(tensor).all()) for tensor in tensors)

    def prove(self) -> tuple[Proof, dict[str, str]]:
        """Compare the devices that hold parameters and inputs with the claimed one."""
        claimed = self._device.type
        parameters = _device_types(self._model.parameters())
        inputs = _device_types(self._tensors.values())
        proof: Proof = "proven" if {parameters, inputs} == {claimed} else "contradicted"
        return proof, {"claimed": claimed, "parameters": parameters, "inputs": inputs}

    def close(self) -> None:
        """Drop the model and its inputs."""
        self._tensors = {}
        del self._model

    def _place(self, tensor: torch.Tensor) -> torch.Tensor:
        dtype = self._dtype if tensor.is_floating_point() else tensor.dtype
        return tensor.to(self._device, dtype)


class TorchQuery:
    """The model's forward pass over fixed inputs."""

    def __init__(self, model: torch.nn.Module, arguments: Mapping[str, Any]) -> None:
        self._model = model
        self._arguments = arguments

    def __call__(self) -> object:
        """Execute the forward pass; the CPU has finished when it returns."""
        with torch.inference_mode():
            return self._model(**self._arguments)


def open_session(job: Job, threads: int) -> TorchSession:
    """Build the job's model on its device, with that many threads per operator."""
    cell = job.cells[0]
    if cell.backend not in DEVICES:
        raise Unsupported(f"the runtime torch has no device for backend {cell.backend}")
    if cell.precision not in DTYPES:
        raise Unsupported(f"the runtime torch has no precision {cell.precision} yet")
    torch.set_num_threads(threads)
    return TorchSession(job, torch.device(DEVICES[cell.backend]), DTYPES[cell.precision])


def is_out_of_memory(error: BaseException) -> bool:
    """Whether torch's allocator says that memory ran out."""
    text = str(error)
    return isinstance(error, RuntimeError) and any(
        message in text for message in OUT_OF_MEMORY_MESSAGES
    )


def _tensors(outputs: object) -> Iterator[torch.Tensor]:
    """Every tensor in a model's outputs, however they are nested."""
    if isinstance(outputs, torch.Tensor):
        yield outputs
    elif isinstance(outputs, Mapping | list | tuple):
        values = outputs.values() if isinstance(outputs, Mapping) else outputs
        for value in values:
            yield from _tensors(value)


def _device_types(tensors: Iterable[torch.Tensor]) -> str:
    return "+".join(sorted({tensor.device.type for tensor in tensors}))
