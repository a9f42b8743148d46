"""A session of PyTorch in eager mode."""

import gc
import sys
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import torch
import transformers
from transformers.utils import import_utils, logging

from runner.backends.base import (
    DeviceMemory,
    FloatArray,
    Iteration,
    ProofEvidence,
    Query,
    Region,
    Stage,
)
from runner.backends.evidence import join_distinct
from runner.backends.peaks import PeakKernels
from runner.backends.torch.device import (
    Arithmetic,
    TorchDevice,
    TorchMemory,
    autocast_type,
    computation_type,
    find_torch_device,
    parameter_type,
    wait_for,
)
from runner.backends.torch.evidence import ProductTypes, prove, trace
from runner.backends.torch.int8 import quantise, quantised_types
from runner.backends.torch.model import (
    fill_parameters,
    instantiate,
    weights_columns,
    weights_restorer,
)
from runner.backends.torch.peaks import TorchPeaks
from runner.backends.torch.query import (
    EmptyModel,
    TorchGenerator,
    TorchQuery,
    all_tensors,
    float_arrays,
)
from runner.backends.torch.training import TorchTrainer, spread_elements
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.host import cpu_model
from runner.contract.job import Job
from runner.contract.reasons import reason
from runner.contract.support import UNTRAINED_PRECISION, training_error
from runner.inputs import Inputs, tokens_to_generate
from runner.measure.clock import Clock, monotonic
from runner.measure.energy import EnergyDevice
from runner.measure.environment import versions

_SHARED = "transformers.modeling_utils"
_LIBRARIES = ("torch", "transformers", "numpy", "safetensors", "tokenizers")
_KEPT = 256  # elements of each parameter that are shown, at least
_CHECKED_AT_ONCE = 1 << 20
"""Elements of an output that are looked at together, as the look takes copies of them."""
_OUT_OF_MEMORY_MESSAGES = (
    "can't allocate memory",
    "not enough memory",
    "MPS backend out of memory",
)


def _import_models() -> None:
    """Import what all models share, and set it aside for the collection of garbage.

    `transformers` and `transformers.models` both look through the 2,500 files of the folder
    `models` for the names that they define. The first keeps what it found, under another spelling
    of the path; here the second takes that, which saves a quarter of a second.
    """
    if _SHARED in sys.modules:
        return
    folder = Path(transformers.__file__).parent / "models"
    read = import_utils.create_import_structure_from_path
    names, package = read(folder), folder / "__init__.py"
    import_utils.create_import_structure_from_path = cache(
        lambda path: names if Path(path) == package else read(path)
    )
    try:
        import_module(_SHARED)
    finally:
        import_utils.create_import_structure_from_path = read
    gc.freeze()  # imports leave many objects


class TorchSession:
    """A model in eager mode on one device; `instantiate` includes the search for the device."""

    clock_resolution_s = None
    products: Mapping[str, int] | None = None
    sees_products = True
    """False where a look at each operator would have other code executed than is timed."""
    timed_region = "model forward; inputs and new outputs lie on the device, which is synchronised"

    def __init__(self, job: Job, chosen: TorchDevice, began_ns: int) -> None:
        """Build the model; `began_ns` is the clock before the device was sought."""
        cell = job.cells[0]
        self.device_name = chosen.name
        self.energy_device = EnergyDevice(pci_address=chosen.pci_address)
        self.region: Region = "host" if chosen.device.type == "cpu" else "device"
        self._chosen = chosen
        self._device = chosen.device
        self._dtype = parameter_type(cell)
        self._autocast = autocast_type(cell)
        self._cast = Arithmetic(chosen.device, self._autocast).cast
        self._seed = job.weights_seed
        self._constants = job.model.forward
        self._wait = wait_for(chosen.device)
        self._memory = TorchMemory(chosen.device)
        if cell.mode != "startup":  # a start that is timed imports as any program does
            _import_models()
        model = instantiate(job.model, self._dtype)
        instantiated = monotonic()
        fill_parameters(model, job.weights_seed)
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self._method = quantise(model, chosen.device.type) if cell.precision == "int8" else None
        self._model = model.to(chosen.device)
        self._wait()
        self.threads = torch.get_num_threads()
        self.interop_threads = torch.get_num_interop_threads()
        self.stages_ns: Mapping[Stage, int] = {
            "instantiate": instantiated - began_ns,
            "weights": monotonic() - instantiated,
        }

    @property
    def columns(self) -> Mapping[str, object]:
        return {
            "inference_precision": self._computes_in(),
            "quantization": self._method,
            "execution_options": dict(self._chosen.options) or None,
            "device_uuid": self._chosen.uuid,
            **weights_columns(self._model),
        }

    @property
    def libraries(self) -> dict[str, str]:
        return versions(_LIBRARIES)

    def bind(self, cell: Cell, inputs: Inputs) -> TorchQuery:
        del cell
        return self._query(inputs)

    def bind_host_to_host(self, cell: Cell, inputs: Inputs) -> Query:
        self.bind(cell, inputs)  # once, as a compiled session then counts its compilations

        def query() -> object:
            return [tensor.to("cpu") for tensor in all_tensors(self._query(inputs)())]

        return query

    def bind_generation(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchGenerator:
        return TorchGenerator(self._model, self._placed(inputs), tokens_to_generate(cell), clock)

    def bind_training(self, cell: Cell, inputs: Inputs, clock: Clock) -> TorchTrainer:
        """Move a batch with labels to the device; its trainer, with dropout by the job's seed."""
        if cell.precision in UNTRAINED_PRECISION:
            raise training_error(cell.precision)
        torch.manual_seed(self._seed)
        return TorchTrainer(
            self._model,
            self._placed(inputs),
            self._constants,
            clock,
            weights_restorer(self._model, self._seed),
            Arithmetic(self._device, self._autocast),
        )

    def empty(self) -> TorchQuery:
        return TorchQuery(EmptyModel(), {}, {}, self._wait)

    def peak_kernels(self) -> PeakKernels:
        maker = TorchPeaks(self._device, self._autocast or self._dtype, self._wait)
        return maker.kernels(quantised=self._method is not None)

    def all_finite(self, outputs: object) -> bool:
        """True if every output is finite; a piece at a time, as torch copies what it looks at."""
        tensors = all_tensors(outputs)
        if not tensors:
            raise Unsupported(reason("model_gives_no_tensor"))
        pieces = (
            piece for tensor in tensors for piece in torch.split(tensor.flatten(), _CHECKED_AT_ONCE)
        )
        return all(bool(torch.isfinite(piece).all()) for piece in pieces)

    def arrays(self, outputs: object) -> dict[str, FloatArray]:
        return float_arrays(outputs)

    def weights(self) -> dict[str, FloatArray]:
        return {
            name: spread_elements(parameter, _KEPT).to("cpu", torch.float32).numpy()
            for name, parameter in self._model.named_parameters()
        }

    def prove(self, query: Query, iteration: Iteration | None = None) -> ProofEvidence:
        seen = ProductTypes() if self.sees_products else None
        proof, evidence = prove(query, self._model, self._device, iteration, seen)
        self.products = None if seen is None else dict(seen.counts)
        return proof, evidence

    def trace(self, action: Query, stem: Path) -> None:
        trace(action, stem, self._device)

    def trim(self) -> None:
        self._memory.trim()

    def device_memory(self, *, reset: bool = False) -> DeviceMemory | None:
        return self._memory.read(reset=reset)

    def close(self) -> None:
        del self._model

    def _computes_in(self) -> str:
        if self._method is not None:
            types = join_distinct(quantised_types(self._model))
            elsewhere = computation_type(self._dtype, self._device)
            return f"{types} in linear layers, {elsewhere} elsewhere"
        computed = computation_type(self._autocast or self._dtype, self._device)
        if self._autocast is None:
            return computed
        return f"{computed} where torch.autocast takes it, torch.float32 elsewhere"

    def _query(self, inputs: Inputs) -> TorchQuery:
        placed = self._placed(inputs)
        return TorchQuery(self._model, placed, self._constants, self._wait, self._cast)

    def _placed(self, inputs: Inputs) -> dict[str, torch.Tensor]:
        tensors = {name: torch.from_numpy(array) for name, array in inputs.items()}
        return {
            name: tensor.to(self._device, self._dtype if tensor.is_floating_point() else None)
            for name, tensor in tensors.items()
        }


def open_session(job: Job, threads: int, graphs: Path | None = None) -> TorchSession:
    del graphs
    return TorchSession(job, *prepare_device(job, threads))


def prepare_device(job: Job, threads: int) -> tuple[TorchDevice, int]:
    """Find the device, set the threads; also the clock before, as a device is found in loading."""
    cell = job.cells[0]
    cpu_model()  # ahead of the clock: reading what records say is no part of a start
    began_ns = monotonic()
    device = find_torch_device(cell.backend, cell.precision)
    logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    torch.set_num_threads(threads)
    return device, began_ns


def is_out_of_memory(error: BaseException) -> bool:
    text = str(error)
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError)
        and any(message in text for message in _OUT_OF_MEMORY_MESSAGES)
    )
