"""Devices of ONNX Runtime: CPU and CUDA, their memory and the arithmetic of their sessions."""

import os
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import onnxruntime

from runner.backends.base import DeviceMemory
from runner.contract.axes import Backend, Precision
from runner.contract.cell import Cell
from runner.contract.errors import Unavailable
from runner.contract.host import cpu_model
from runner.contract.job import chosen_device
from runner.contract.reasons import reason
from runner.contract.support import precision_error
from runner.measure.vendors.nvidia import SLICE, load_nvml, nvidia_parts, used_bytes

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
_ORDER, _VISIBLE = "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"
_COMPUTES: Mapping[tuple[Backend, Precision], str] = {
    ("cpu", "fp32"): "float32",
    ("cpu", "int8"): "int8 products of quantized layers, float32 elsewhere",
    ("cuda", "fp32"): "float32, TF32 off",
    ("cuda", "fp16"): "float16",
    ("qnn", "fp16"): "float16",
    ("qnn", "int8"): "fixed point between quantizing nodes",
}
"""The number format in which a session computes, as its record says."""
_Board = tuple[str, list[tuple[str, str]]]
"""The UUID of a GPU, and UUID and name of its slices, or its own."""


@dataclass(frozen=True)
class OnnxDevice:
    """A device, and the options that place a session there."""

    claimed: Backend
    """The backend whose device this is."""
    name: str
    provider: str
    """The execution provider that must do the work."""
    options: Mapping[str, str] = field(default_factory=dict)
    memory: str = "cpu"
    """The memory of inputs and outputs, by ONNX Runtime's name."""
    index: int = 0
    plugins: tuple[Any, ...] = ()
    """The devices of a provider that comes as a plugin; empty for those that are built in."""
    uuid: str | None = None
    is_simulated: bool = False
    """True for a simulator: its results count, its times say nothing."""
    compiles: bool = False
    """True if it compiles whole graphs: then all sizes must be fixed."""
    used_bytes: Callable[[], int] | None = None
    """Reads the use of its own memory; None if it uses the host's."""

    @property
    def is_accelerator(self) -> bool:
        """True if nodes on the CPU provider are a fallback."""
        return self.provider != CPU


def arithmetic_of(cell: Cell) -> str:
    key = (cell.backend, cell.precision)
    if key in _COMPUTES:
        return _COMPUTES[key]
    raise precision_error(cell)


def cpu_device() -> OnnxDevice:
    return OnnxDevice("cpu", cpu_model(), CPU)


def find_cuda_device(
    library: Any = onnxruntime, nvml: Any = None, environment: MutableMapping[str, str] = os.environ
) -> OnnxDevice:
    """The GPU that the user chose by index or UUID, else the first that is visible; TF32 is off."""
    available = library.get_available_providers()
    if CUDA not in available:
        raise Unavailable(reason("no_cuda_provider", provider=CUDA, available=", ".join(available)))
    # So that an index means what it means to NVML. CUDA reads it as it starts.
    environment.setdefault(_ORDER, "PCI_BUS_ID")
    library.preload_dlls()
    nvml = nvml or load_nvml()
    gpus = _visible(nvml, environment.get(_VISIBLE))
    index = _choose([uuid for uuid, _ in gpus], chosen_device("cuda", environment))
    uuid, name = gpus[index]
    if any(name.startswith(SLICE) for name, _ in gpus):  # of slices CUDA shows one: this one
        environment[_VISIBLE], index = uuid, 0
    options = {"device_id": str(index), "use_tf32": "0"}
    used = partial(used_bytes, uuid, nvml)
    return OnnxDevice("cuda", name, CUDA, options, "cuda", index, uuid=uuid, used_bytes=used)


def _visible(nvml: Any, listed: str | None) -> list[tuple[str, str]]:
    """UUID and name of each GPU that CUDA may see, in its order; of a divided one its slices."""
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    except Exception as error:  # NVML's own errors, whose module may be a stand-in
        raise Unavailable(reason("nvml_silent", error=error)) from error
    boards: list[_Board] = []
    for board in handles:
        parts = nvidia_parts(nvml, board)
        named = [(nvml.nvmlDeviceGetUUID(part), nvml.nvmlDeviceGetName(part)) for part in parts]
        boards.append((nvml.nvmlDeviceGetUUID(board), named))
    gpus = [gpu for _, parts in boards for gpu in parts]
    if listed is not None:
        entries = [entry.strip() for entry in listed.split(",") if entry.strip()]
        gpus = [gpu for entry in entries for gpu in _listed(boards, entry)]
    if not gpus:
        raise Unavailable(reason("no_cuda_gpu"))
    return gpus


def _listed(boards: list[_Board], entry: str) -> list[tuple[str, str]]:
    """The GPU or slice that the entry names; where it names a divided GPU, its first slice."""
    if entry.startswith(SLICE):
        slices = [gpu for _, parts in boards for gpu in parts]
        return [slices[_choose([uuid for uuid, _ in slices], entry)]]
    _, parts = boards[_choose([uuid for uuid, _ in boards], entry)]
    return parts[:1]


def _choose(uuids: list[str], chosen: str | None) -> int:
    """The index of the GPU with that index, or with that beginning of a UUID; else of the first."""
    if chosen is None:
        return 0
    if chosen.isdecimal() and int(chosen) < len(uuids):
        return int(chosen)
    matching = [i for i, uuid in enumerate(uuids) if uuid.startswith(chosen)]
    if len(matching) != 1:
        raise Unavailable(reason("not_one_of_gpus", chosen=chosen, gpus=", ".join(uuids)))
    return matching[0]


class DriverMemory:
    """An accelerator's memory, read from its driver; ONNX Runtime reports no peak."""

    def __init__(self, used_bytes: Callable[[], int] | None) -> None:
        self._used_bytes = used_bytes
        self._before_bytes = self._read()

    def read(self) -> DeviceMemory | None:
        """The use now, less that before this object was made; None if it is unknown."""
        used = self._read()
        if used is None or self._before_bytes is None:
            return None
        return DeviceMemory(allocator_peak_bytes=None, used_bytes=max(0, used - self._before_bytes))

    def _read(self) -> int | None:
        try:
            return self._used_bytes() if self._used_bytes else None
        except Exception:  # NVML's own errors: durations count without the memory
            return None
