"""Torch's devices: choosing one, waiting for it, reading its memory, computing in its formats."""

import os
import warnings
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import torch
from torch.profiler import ProfilerActivity, supported_activities

from runner.backends.base import DeviceMemory
from runner.contract.axes import Backend, Precision
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, Unavailable, Unsupported
from runner.contract.host import cpu_model
from runner.contract.job import chosen_device
from runner.contract.reasons import ReasonCode, reason
from runner.contract.support import UNSUPPORTED_PRECISION

_ACCELERATORS = ("cuda", "mps")
"""Torch's names for devices with memory of their own; that of ROCm's is `cuda`, too."""
_UUID_PREFIX = "GPU-"
_MPS_FALLBACK = "PYTORCH_ENABLE_MPS_FALLBACK"
_DTYPES: Mapping[Precision, torch.dtype] = {
    "fp32": torch.float32,
    "bf16": torch.bfloat16,
    "fp16": torch.float16,
    "int8": torch.float32,  # of everything that is not quantised
}

Wait = Callable[[], None]
"""Returns when the device has finished all its work."""


def wait_for(device: torch.device) -> Wait:
    """The function that waits for that device; the CPU has finished when a call returns."""
    if device.type == "cpu":
        return lambda: None
    return partial(torch.accelerator.synchronize, device)


def activities(device: torch.device) -> set[ProfilerActivity]:
    """The activities that torch's profiler sees there: the host's, and an accelerator's kernels."""
    if device.type == "cpu":
        return {ProfilerActivity.CPU}
    return set(supported_activities())  # type: ignore[no-untyped-call]


class TorchMemory:
    """Memory of an accelerator: of CUDA's and ROCm's whole device, of this process on MPS."""

    def __init__(self, device: torch.device, library: Any = torch) -> None:
        self._device = device
        self._library = library
        self._before_bytes = self._used_bytes()

    def read(self, *, reset: bool = False) -> DeviceMemory | None:
        """The memory now, less the use before this object was made."""
        if self._device.type not in _ACCELERATORS:
            return None
        used = max(0, self._used_bytes() - self._before_bytes)
        peak = None
        if self._device.type == "cuda":
            peak = int(self._library.cuda.max_memory_allocated(self._device))
            if reset:
                self._library.cuda.reset_peak_memory_stats(self._device)
        return DeviceMemory(allocator_peak_bytes=peak, used_bytes=used)

    def trim(self) -> None:
        if self._device.type in _ACCELERATORS:
            getattr(self._library, self._device.type).empty_cache()

    def _used_bytes(self) -> int:
        if self._device.type == "mps":
            return int(self._library.mps.driver_allocated_memory())
        if self._device.type != "cuda":
            return 0
        free, total = self._library.cuda.mem_get_info(self._device)
        return int(total - free)


@dataclass(frozen=True)
class TorchDevice:
    """A device that was found, and the options that were set for it."""

    device: torch.device
    name: str
    uuid: str | None = None
    """The GPU's UUID, NVIDIA's as `nvidia-smi -L` writes it; None where torch shows none."""
    options: Mapping[str, str] = field(default_factory=dict)
    pci_address: str | None = None
    """The address of its board, such as `0000:03:00.0`; None where torch shows none."""


def find_torch_device(
    backend: Backend,
    precision: Precision,
    library: Any = torch,
    environment: MutableMapping[str, str] = os.environ,
) -> TorchDevice:
    """The device that the backend's cells execute on in torch, which `library` may stand in for."""
    if backend not in _FINDERS:
        raise Unsupported(reason("no_device_for_backend", runtime="torch", backend=backend))
    chosen = _FINDERS[backend](library, environment)
    lack = UNSUPPORTED_PRECISION.get((backend, "torch"), {}).get(precision)
    lack = lack or _lack(chosen.device.type, precision, library)
    if lack is not None:
        facts = {"precision": precision, "device": chosen.name}
        raise Unsupported(reason("device_precision", **facts, cause=reason(lack)))
    return chosen


def _cuda(library: Any, environment: MutableMapping[str, str]) -> TorchDevice:
    if library.version.hip is not None:
        raise _no_build(library, "torch_is_rocm")
    if library.version.cuda is None:
        raise _no_build(library, "torch_without_cuda")
    # So that an index means what it means to nvidia-smi and NVML. CUDA reads it as it starts.
    environment.setdefault("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    gpu = _gpu("cuda", library, environment)
    library.backends.cuda.matmul.allow_tf32 = False
    library.backends.cudnn.allow_tf32 = False
    tf32 = {"backends.cuda.matmul.allow_tf32": "False", "backends.cudnn.allow_tf32": "False"}
    return replace(gpu, options=tf32)


def _rocm(library: Any, environment: Mapping[str, str]) -> TorchDevice:
    if library.version.hip is None:
        raise _no_build(library, "torch_without_rocm")
    return _gpu("rocm", library, environment)


def _mps(library: Any, environment: Mapping[str, str]) -> TorchDevice:
    mps = library.backends.mps
    if not mps.is_built():
        raise _no_build(library, "torch_without_mps")
    if not mps.is_available():
        raise Unavailable(reason("no_metal_device", version=library.__version__))
    if environment.get(_MPS_FALLBACK, "0") != "0":
        raise Unsupported(reason("mps_fallback", variable=_MPS_FALLBACK))
    # A few operators fall back whatever that variable says, with a warning.
    warnings.filterwarnings("error", message=".*fall back to run on the CPU")
    name = mps.get_name() if hasattr(mps, "get_name") else cpu_model()
    return TorchDevice(torch.device("mps", 0), name)


_FINDERS: Mapping[Backend, Callable[[Any, MutableMapping[str, str]], TorchDevice]] = {
    "cpu": lambda *_: TorchDevice(torch.device("cpu"), cpu_model()),
    "cuda": _cuda,
    "rocm": _rocm,
    "mps": _mps,
}


def _no_build(library: Any, code: ReasonCode) -> BenchError:
    return Unavailable(reason(code, version=library.__version__))


def _gpu(backend: Backend, library: Any, environment: Mapping[str, str]) -> TorchDevice:
    """One of the GPUs that torch's module `cuda` shows, which also stands for ROCm's."""
    try:
        library.cuda.init()
    except (RuntimeError, AssertionError) as error:
        first_line = str(error).strip().partition("\n")[0] or type(error).__name__
        raise Unavailable(reason("device_refuses", backend=backend, error=first_line)) from error
    gpus = [library.cuda.get_device_properties(i) for i in range(library.cuda.device_count())]
    index = _choose(backend, [_uuid(gpu) for gpu in gpus], environment)
    library.cuda.set_device(index)
    gpu = gpus[index]
    # On CUDA torch gives the name as the architecture again.
    words = dict.fromkeys((gpu.name, getattr(gpu, "gcnArchName", "")))
    return TorchDevice(
        torch.device("cuda", index),
        " ".join(words).strip(),
        _uuid(gpu),
        pci_address=_pci_address(gpu),
    )


def _choose(backend: Backend, uuids: Sequence[str | None], environment: Mapping[str, str]) -> int:
    chosen = chosen_device(backend, environment)
    if chosen is None:
        return 0
    if chosen.isdecimal() and int(chosen) < len(uuids):
        return int(chosen)
    matching = [i for i, uuid in enumerate(uuids) if uuid and uuid.startswith(chosen)]
    if len(matching) == 1:
        return matching[0]
    shown = ", ".join(f"{i} ({uuid})" if uuid else str(i) for i, uuid in enumerate(uuids))
    code: ReasonCode = "several_such_gpus" if matching else "no_such_gpu"
    raise Unavailable(reason(code, chosen=chosen, backend=backend, gpus=shown))


def _lack(device_type: str, precision: Precision, library: Any) -> ReasonCode | None:
    if precision != "bf16" or device_type == "cpu":
        return None
    if device_type == "mps":
        return None if library.backends.mps.is_macos_or_newer(14, 0) else "takes_macos_14"
    if library.cuda.is_bf16_supported(including_emulation=False):
        return None
    return "bf16_emulated"


def _uuid(properties: Any) -> str | None:
    """The UUID, NVIDIA's as `nvidia-smi -L` writes it; old ROCm shows none."""
    uuid = getattr(properties, "uuid", None)
    return None if uuid is None else f"{_UUID_PREFIX}{str(uuid).removeprefix(_UUID_PREFIX)}"


def _pci_address(properties: Any) -> str | None:
    """The board's address as Linux writes it; parts of a divided one share it."""
    words = ("domain", "bus", "device")
    parts: list[Any] = [getattr(properties, f"pci_{word}_id", None) for word in words]
    return None if None in parts else "{:04x}:{:02x}:{:02x}.0".format(*parts)


def computation_type(dtype: torch.dtype, device: torch.device) -> str:
    """The type of a model's numbers, with a remark if this CPU has no instructions for it."""
    # oneDNN tells whether it multiplies matrices of fp16 with this processor's instructions.
    half_on_cpu = dtype == torch.float16 and device.type == "cpu"
    if not half_on_cpu or torch.ops.mkldnn._is_mkldnn_fp16_supported():
        return str(dtype)
    return f"{dtype}, without instructions of the processor's own: slower than torch.float32"


def parameter_type(cell: Cell) -> torch.dtype:
    return torch.float32 if autocast_type(cell) else _DTYPES[cell.precision]


def autocast_type(cell: Cell) -> torch.dtype | None:
    """The type to which autocast turns a cell's products; None where all have one type."""
    below = cell.mode == "training" and cell.precision in {"bf16", "fp16"}
    return _DTYPES[cell.precision] if below and cell.training_precision != "pure" else None


class Arithmetic:
    """Autocast around forward pass and loss, and a scale of the loss for fp16.

    Gradients of fp16 activations vanish below 6e-8, so the loss is multiplied by a scale, which
    falls by half when a gradient overflows; that step is skipped (Micikevicius and others 2018).
    """

    def __init__(self, device: torch.device, autocast: torch.dtype | None = None) -> None:
        self._device = device
        self.wait = wait_for(device)
        self._autocast = autocast
        scaled = autocast == torch.float16
        self._scaler: Any = torch.amp.GradScaler(device.type) if scaled else None

    @property
    def scale(self) -> float | None:
        return None if self._scaler is None else float(self._scaler.get_scale())

    def cast(self) -> AbstractContextManager[Any]:
        if self._autocast is None:
            return nullcontext()
        return torch.autocast(self._device.type, dtype=self._autocast)

    def backward(self, loss: torch.Tensor) -> None:
        (loss if self._scaler is None else self._scaler.scale(loss)).backward()

    def update(self, optimizer: torch.optim.Optimizer) -> None:
        """Take the optimizer's step, unless a scaled gradient is not finite; adapt the scale."""
        if self._scaler is None:
            optimizer.step()
            return
        self._scaler.step(optimizer)
        self._scaler.update()
