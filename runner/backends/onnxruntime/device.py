"""Where ONNX Runtime's sessions execute, what it takes to place them there, what it can't do."""

import os
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import onnxruntime

from runner.backends.base import DeviceMemory
from runner.contract.cell import Backend, Cell, Precision
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.job import VARIABLE, chosen_device
from runner.measure.environment import read_environment
from runner.measure.vendors.nvidia import load_nvml, used_bytes

CPU = "CPUExecutionProvider"

NO_PROVIDER: Mapping[Backend, str] = {
    "rocm": "its releases have no ROCm provider any more, and its provider for MIGraphX comes in "
    "a package of its own",
    "mps": "it has a provider for Core ML, none for MPS",
    "openvino": "its OpenVINO provider comes in a package of its own; the runtime openvino "
    "executes the same graph",
}
"""Why backends that other runtimes know have no device here."""

_COMPUTED_IN_FP32 = "ONNX Runtime's CPU provider computes fp16 graphs in fp32, between casts"
_NO_BF16 = "ONNX Runtime's CPU provider has no bf16 kernels for matrix products"
_HTP_FP16 = "the HTP computes in fp16 whatever floating-point graph it is given"

LACKS: Mapping[tuple[Backend, Precision], str] = {
    ("cpu", "fp16"): _COMPUTED_IN_FP32,
    ("cpu", "bf16"): _NO_BF16,
    ("cuda", "bf16"): "no graph is prepared in bf16, of which ONNX Runtime's CUDA provider has "
    "kernels for a part of the operators only",
    ("cuda", "int8"): "dynamically quantized graphs need DynamicQuantizeLinear, "
    "which ONNX Runtime's CUDA provider lacks",
    ("qnn", "fp32"): _HTP_FP16,
    ("qnn", "bf16"): _HTP_FP16,
}
"""Precisions that are not to be had on a backend, each with the reason."""

COMPUTES: Mapping[tuple[Backend, Precision], str] = {
    ("cpu", "fp32"): "float32",
    ("cpu", "int8"): "int8 products of quantized layers, float32 elsewhere",
    ("cuda", "fp32"): "float32, TF32 off",
    ("cuda", "fp16"): "float16",
    ("qnn", "fp16"): "float16",
    ("qnn", "int8"): "fixed point between quantizing nodes",
}
"""In which numbers a session computes."""


@dataclass(frozen=True)
class OnnxDevice:
    """A device and how a session is placed there."""

    claimed: Backend
    """The backend whose device this is."""
    name: str
    """The physical device."""
    provider: str
    """The execution provider that must do the work."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The provider's options."""
    memory: str = "cpu"
    """Where inputs and outputs lie, in ONNX Runtime's words."""
    index: int = 0
    """Which of the devices of that memory."""
    plugins: tuple[Any, ...] = ()
    """The devices of a provider that comes as a plugin; empty for those that are built in."""
    uuid: str | None = None
    """Which of a maker's devices it is; None where nobody tells."""
    is_simulated: bool = False
    """Whether it is none: its results count, its times say nothing."""
    compiles: bool = False
    """Whether it compiles a graph whole: then all sizes must be fixed."""
    used_bytes: Callable[[], int] | None = None
    """Reads how much of its own memory is in use; None where that is the host's."""

    @property
    def is_accelerator(self) -> bool:
        """Whether nodes on the CPU provider are not what was asked for."""
        return self.provider != CPU


def precision_of(cell: Cell) -> str:
    """In which numbers a session of the cell computes.

    Raises:
        Unsupported: not in those that the cell asks for.
    """
    asked = (cell.backend, cell.precision)
    if asked in COMPUTES:
        return COMPUTES[asked]
    lack = LACKS.get(asked) or NO_PROVIDER.get(cell.backend, "nobody tried")
    raise Unsupported(f"{cell.precision} is not possible with onnxruntime on {asked[0]}: {lack}")


def cpu_device() -> OnnxDevice:
    """The processor."""
    return OnnxDevice("cpu", read_environment().cpu_model, CPU)


CUDA = "CUDAExecutionProvider"
ORDER, VISIBLE = "CUDA_DEVICE_ORDER", "CUDA_VISIBLE_DEVICES"


def cuda_device(
    library: Any = onnxruntime,
    nvml: Any = None,
    environment: MutableMapping[str, str] = os.environ,
) -> OnnxDevice:
    """The GPU that the user chose by index or UUID, or the first that is visible.

    Its products are fp32 where the graph's are: TF32, which rounds them, is off.

    Raises:
        Unavailable: this build has no CUDA, NVML does not answer, or the choice fits no GPU.
    """
    available = library.get_available_providers()
    if CUDA not in available:
        raise Unavailable(
            f"onnxruntime has no {CUDA} here, only {', '.join(available)}",
            hint="install onnxruntime-gpu in place of onnxruntime: both fill the same folder",
        )
    # So that an index means what it means to NVML. CUDA reads it as it starts.
    environment.setdefault(ORDER, "PCI_BUS_ID")
    library.preload_dlls()
    nvml = nvml or load_nvml()
    gpus = _visible(nvml, environment.get(VISIBLE))
    index = _choose([uuid for uuid, _ in gpus], chosen_device("cuda", environment))
    uuid, name = gpus[index]
    options = {"device_id": str(index), "use_tf32": "0"}
    return OnnxDevice(
        "cuda",
        name,
        CUDA,
        options,
        memory="cuda",
        index=index,
        uuid=uuid,
        used_bytes=partial(used_bytes, uuid, nvml),
    )


def _visible(nvml: Any, listed: str | None) -> list[tuple[str, str]]:
    """UUID and name of each GPU that CUDA may see, in its order.

    Raises:
        Unavailable: NVML does not answer, or there is none.
    """
    try:
        nvml.nvmlInit()
        handles = [nvml.nvmlDeviceGetHandleByIndex(i) for i in range(nvml.nvmlDeviceGetCount())]
    except Exception as error:  # NVML's own errors, whose module may be a stand-in
        raise Unavailable(f"NVML does not answer: {error}", hint="check the driver") from error
    everyone = [(nvml.nvmlDeviceGetUUID(gpu), nvml.nvmlDeviceGetName(gpu)) for gpu in handles]
    if listed is not None:
        uuids = [uuid for uuid, _ in everyone]
        entries = [entry.strip() for entry in listed.split(",") if entry.strip()]
        everyone = [everyone[_choose(uuids, entry)] for entry in entries]
    if not everyone:
        raise Unavailable("NVML finds no GPU that CUDA may see", hint=f"check {VISIBLE}")
    return everyone


def _choose(uuids: list[str], chosen: str | None) -> int:
    """The place of the GPU with that index, or with that beginning of a UUID; else the first."""
    if chosen is None:
        return 0
    if chosen.isdecimal() and int(chosen) < len(uuids):
        return int(chosen)
    matching = [i for i, uuid in enumerate(uuids) if uuid.startswith(chosen)]
    if len(matching) != 1:
        raise Unavailable(
            f"{chosen!r} is not one of the GPUs {', '.join(uuids)}",
            hint=f"name one by its index or UUID in {VARIABLE}",
        )
    return matching[0]


class MemoryGauge:
    """Reads an accelerator's memory from its driver; ONNX Runtime tells Python no peak."""

    def __init__(self, used_bytes: Callable[[], int] | None) -> None:
        self._used_bytes = used_bytes
        self._before_bytes = self._read()

    def read(self) -> DeviceMemory | None:
        """The use now, less that before this gauge was made; None where it is not known."""
        used = self._read()
        if used is None or self._before_bytes is None:
            return None
        return DeviceMemory(allocator_peak_bytes=None, used_bytes=max(0, used - self._before_bytes))

    def _read(self) -> int | None:
        try:
            return self._used_bytes() if self._used_bytes else None
        except Exception:  # NVML's own errors: what is not known takes nothing from a duration
            return None
