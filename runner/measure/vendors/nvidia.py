"""NVIDIA's library of management, and the GPU in it that works."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.vendors.counter import Counter


def gpu_of(nvml: Any = None, uuid: str | None = None) -> tuple[Any, Any]:
    """The library, ready, and its handle of the GPU with that UUID, or of the only one.

    `nvml` is the module pynvml of nvidia-ml-py, or what stands in for it.

    Raises:
        Unavailable: the library is missing; or the UUID is unknown and several GPUs are visible.
    """
    library = nvml or load_nvml()
    library.nvmlInit()
    if uuid is not None:
        return library, library.nvmlDeviceGetHandleByUUID(uuid)
    count = library.nvmlDeviceGetCount()
    if count != 1:
        raise Unavailable(f"NVML sees {count} GPUs, so which one works is not known: show it one")
    return library, library.nvmlDeviceGetHandleByIndex(0)


def used_bytes(uuid: str | None = None, nvml: Any = None) -> int:
    """Memory of that GPU, or of the only one, which is in use by whomever.

    Raises:
        Unavailable: as `gpu_of` says.
    """
    library, device = gpu_of(nvml, uuid)
    return int(library.nvmlDeviceGetMemoryInfo(device).used)


def load_nvml() -> Any:
    """The module pynvml.

    Raises:
        Unavailable: it is missing.
    """
    try:
        return import_module("pynvml")
    except ImportError as error:
        raise Unavailable("the package nvidia-ml-py is not installed") from error


MEGA = 1_000_000
REASONS: Mapping[int, str] = {
    0x002: "ApplicationsClocksSetting",
    0x004: "SwPowerCap",
    0x008: "HwSlowdown",
    0x010: "SyncBoost",
    0x020: "SwThermalSlowdown",
    0x040: "HwThermalSlowdown",
    0x080: "HwPowerBrakeSlowdown",
    0x100: "DisplayClockSetting",
}
"""NVML's names, nvml.h: `nvmlClocksEventReason…`. `GpuIdle`, 0x1, slows nothing down."""


def gpu(nvml: Any = None, uuid: str | None = None) -> Callable[[], DeviceState]:
    """How to read the GPU with that UUID, or the only one that is visible.

    `nvml` is the module pynvml of nvidia-ml-py, or what stands in for it.

    Raises:
        Unavailable: the library is missing; or the UUID is unknown and several GPUs are visible.
    """
    library, device = gpu_of(nvml, uuid)
    return partial(_read, library, device)


def _read(library: Any, device: Any) -> DeviceState:
    clock_mhz = library.nvmlDeviceGetClockInfo(device, library.NVML_CLOCK_SM)
    temperature = library.nvmlDeviceGetTemperatureV(device, library.NVML_TEMPERATURE_GPU)
    reasons = library.nvmlDeviceGetCurrentClocksEventReasons(device)
    return DeviceState(
        clock_hz=clock_mhz * MEGA,
        temperature_c=temperature,
        throttle_reasons=[name for bit, name in REASONS.items() if reasons & bit],
    )


MILLI = 1e-3
PERIOD_S = 0.1
"""20 to 100 ms by generation: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's
Lack of Attention" (2023); PETSc's PetscLogGpuEnergyMeter says the same of this counter."""


def gpu_nvidia(nvml: Any = None, uuid: str | None = None) -> list[Counter]:
    """The counter of the GPU with that UUID, or of the only one that is visible; from Volta on.

    `nvml` is the module pynvml of nvidia-ml-py, or what stands in for it.

    Raises:
        Unavailable: the library is missing; or the UUID is unknown and several GPUs are visible.
    """
    library, device = gpu_of(nvml, uuid)

    def read() -> float:
        return float(library.nvmlDeviceGetTotalEnergyConsumption(device) * MILLI)

    read()
    return [Counter("NVML total energy of the GPU", PERIOD_S, read)]
