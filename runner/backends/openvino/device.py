"""OpenVINO's devices: choosing one, compiling for it, and explaining its errors."""

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from shutil import disk_usage
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as operators

from runner.backends.evidence import number_type
from runner.contract.axes import Precision
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.host import cpu_model
from runner.contract.reasons import ReasonCode, reason
from runner.measure.clock import monotonic

_AUTO = "AUTO"
_PREFERRED = ("GPU", "CPU")
"""OpenVINO's own order of types of devices in AUTO; an NPU is taken only by name."""
_PCI_KEYS = ("domain", "bus", "device", "function")
_PCI_PART = re.compile(r"(domain|bus|device|function)\W+(0x[0-9a-f]+|\d+)")
"""A part of `{domain: 0 bus: 3 device: 0x0 function: 0}`, as OpenVINO writes its PCIInfo."""
_OUT_OF_MEMORY = re.compile(
    r"bad_alloc|bad allocation"
    r"|Failed to allocate (\d+ bytes of |zero )?memory"
    r"|Exceeded max size of memory|buffer allocation failed|out of GPU resources"
    r"|CL_(OUT_OF_RESOURCES|OUT_OF_HOST_MEMORY|MEM_OBJECT_ALLOCATION_FAILURE)"
    r"|ZE_RESULT_ERROR_OUT_OF_(DEVICE|HOST)_MEMORY"
)
"""Messages of the plugins for CPU, GPU and NPU, and of the allocator that all of them use."""
_LOCATION = re.compile(r"Exception from \S+:\d+:")
_PRODUCTS = frozenset({"FullyConnected", "MatMul", "Gemm", "Convolution", "GroupConvolution"})
"""The kinds of matrix products and convolutions, as the plug-in for processors calls them."""
_HINTS: Mapping[Precision, str] = {"fp32": "f32", "bf16": "bf16", "fp16": "f16", "int8": "f32"}
"""The arithmetic to request; in an int8 model that of operators which are not quantised."""
_PLACEMENT: Mapping[str, object] = {
    "ENABLE_HYPER_THREADING": True,
    "SCHEDULING_CORE_TYPE": "ANY_CORE",
    "ENABLE_CPU_PINNING": False,
}
"""The process is pinned to the CPUs that its threads shall have, for every runtime: OpenVINO shall
neither leave some of them out nor bind threads to them one by one, which others do not."""


@dataclass(frozen=True)
class OpenVINODevice:
    """A device of this machine."""

    name: str
    """OpenVINO's name for it: `CPU`, `GPU.1`, `NPU`."""
    full_name: str
    """OpenVINO's words for what it is: a processor's name with its padding, or `ARM CPU`."""
    requested: str | None
    available: tuple[str, ...]
    is_discrete: bool = False
    pci_address: str | None = None
    """The card's address, such as `0000:03:00.0`; None if it has none or OpenVINO tells none."""
    memory_bytes: int | None = None
    """The card's memory; None as above: other GPUs take the host's."""
    execution_units: int | None = None
    """Those of a GPU; None for other devices, or if OpenVINO tells none."""

    @property
    def device_name(self) -> str:
        """The name in records; that of the processor is the one that all runtimes give it."""
        return cpu_model() if base_name(self.name) == "CPU" else self.full_name

    @property
    def columns(self) -> Mapping[str, object]:
        return {
            "device_memory_bytes": self.memory_bytes,
            "device_compute_units": self.execution_units,
        }


def find_openvino_device(core: Any, requested: str | None) -> OpenVINODevice:
    """The requested device, or the one that AUTO chooses, without its fallback to the CPU; without
    a request the first GPU, discrete ones first, or the CPU.
    """
    available = tuple(core.available_devices)
    if requested is None:
        name = _preferred(core, available)
    elif requested == _AUTO:
        compiled = core.compile_model(identity_model(), _AUTO, {"ENABLE_STARTUP_FALLBACK": False})
        name = str(compiled.get_property("EXECUTION_DEVICES")[0]).strip("()")
    else:
        same = (name for name in available if base_name(name) == base_name(requested))
        name = next(same, None)
    if name is None:
        names = ", ".join(available)
        code: ReasonCode = "openvino_no_such_device" if names else "openvino_no_device"
        raise Unavailable(reason(code, requested=requested, devices=names))
    full_name = str(core.get_property(name, "FULL_DEVICE_NAME"))
    device = OpenVINODevice(name, full_name, requested, available)
    return _with_build(core, device) if name.partition(".")[0] == "GPU" else device


def base_name(name: str) -> str:
    """The device's name for comparisons: `(GPU.0)`, as AUTO writes it, and `GPU.0` are `GPU`."""
    return name.strip("()").removesuffix(".0")


def identity_model() -> ov.Model:
    value = operators.parameter([1], np.float32, name="nothing")
    return ov.Model([operators.result(value)], [value], "nothing")


def _preferred(core: Any, available: tuple[str, ...]) -> str | None:
    for kind in _PREFERRED:
        names = [name for name in available if name.partition(".")[0] == kind]
        if names:
            return min(names, key=lambda name: not _is_discrete(core, name))
    return None


def _with_build(core: Any, gpu: OpenVINODevice) -> OpenVINODevice:
    built = replace(gpu, execution_units=_number(core, gpu.name, "GPU_EXECUTION_UNITS_COUNT"))
    if not _is_discrete(core, gpu.name):
        return built
    return replace(
        built,
        is_discrete=True,
        pci_address=_pci_address(core, gpu.name),
        memory_bytes=_number(core, gpu.name, "GPU_DEVICE_TOTAL_MEM_SIZE"),
    )


def _is_discrete(core: Any, name: str) -> bool:
    return "discrete" in str(core.get_property(name, "DEVICE_TYPE")).lower()


def _pci_address(core: Any, name: str) -> str | None:
    """The card's address as Linux writes it; None where the plug-in does not tell."""
    parts = dict(_PCI_PART.findall(str(_property(core, name, "DEVICE_PCI_INFO"))))
    if not parts.keys() >= set(_PCI_KEYS):
        return None
    domain, bus, device, function = (int(parts[key], 0) for key in _PCI_KEYS)
    return f"{domain:04x}:{bus:02x}:{device:02x}.{function:x}"


def _number(core: Any, name: str, key: str) -> int | None:
    value = _property(core, name, key)
    return value if isinstance(value, int) and value > 0 else None


def _property(core: Any, name: str, key: str) -> object:
    try:
        return core.get_property(name, key)
    except (RuntimeError, TypeError):  # an unknown property, or a type without a Python counterpart
        return None


def is_out_of_memory(error: BaseException) -> bool:
    return isinstance(error, RuntimeError) and _OUT_OF_MEMORY.search(str(error)) is not None


@contextmanager
def refusals(action: str) -> Iterator[None]:
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        # Without the lines of OpenVINO's source that the message names.
        message = " ".join(_LOCATION.sub("", str(error)).split())[:400]
        raise Unsupported(reason("openvino_cannot", action=action, error=message)) from error


class Compiler:
    """Compiles for one device, precision and number of threads, and one request at a time."""

    def __init__(
        self, core: Any, device: OpenVINODevice, precision: Precision, threads: int
    ) -> None:
        self._core = core
        self._device = device
        self._precision = precision
        wanted = {
            "INFERENCE_PRECISION_HINT": _HINTS[precision],
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "INFERENCE_NUM_THREADS": threads,
            **_PLACEMENT,
        }
        access = core.get_property(device.name, "SUPPORTED_PROPERTIES")
        self.options: dict[str, Any] = {
            name: value for name, value in wanted.items() if access.get(name) == "RW"
        }
        """The requested options, as far as they can be set for the device."""

    def compile(self, model: ov.Model, **more: object) -> ov.CompiledModel:
        compiled = self._core.compile_model(model, self._device.name, {**self.options, **more})
        requested, actual = _HINTS[self._precision], arithmetic_of_compiled(compiled)
        if actual != requested:
            facts = {"actual": actual, "device": self._device.name, "requested": requested}
            raise Unsupported(reason("openvino_precision", **facts))
        return compiled

    def cached_ns(self, models: Sequence[ov.Model], weights_bytes: int) -> int | None:
        """Nanoseconds to compile from a cache in the temporary folder; None if that fails."""
        with tempfile.TemporaryDirectory() as folder:
            if 2 * weights_bytes > disk_usage(folder).free:
                return None
            for model in models:
                self.compile(model, CACHE_DIR=folder)
            start = monotonic()
            compiled = [self.compile(model, CACHE_DIR=folder) for model in models]
            duration = monotonic() - start
            loaded = all(model.get_property("LOADED_FROM_CACHE") for model in compiled)
            return duration if loaded else None


def arithmetic_of_compiled(compiled: ov.CompiledModel) -> str:
    """The precision in which a compiled model says it computes: `f32`, `bf16`, `f16`."""
    return str(compiled.get_property("INFERENCE_PRECISION_HINT").to_string())


def operator_types(compiled: Any) -> Iterator[tuple[str, str]]:
    """The kind of each operator and the type of number it computes in: `FullyConnected`, `f32`."""
    for node in compiled.get_runtime_model().get_ops():
        about = node.get_rt_info()
        kind, type_ = (str(about[key].astype(str)) for key in ("layerType", "runtimePrecision"))
        if kind not in {"Const", "Input", "Output"} and type_ not in {"", "undefined", "dynamic"}:
            yield kind, type_


def product_types(parts: Iterable[Any]) -> Counter[str]:
    """Matrix products and convolutions of compiled models, by the type that they compute in."""
    types = (types for part in parts for types in operator_types(part))
    return Counter(number_type(type_) for kind, type_ in types if kind in _PRODUCTS)
