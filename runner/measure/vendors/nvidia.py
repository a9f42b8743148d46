"""NVIDIA GPUs through NVML: memory, driver, state and energy of the GPU that works.

`nvml` is everywhere the module pynvml of nvidia-ml-py, or a test's stand-in for it; `uuid` names
the GPU. All functions raise `Unavailable` if the library is missing, or if there is no UUID and
several GPUs are visible.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.vendors.counter import Counter

_HERTZ_PER_MHZ = 1_000_000
_JOULES_PER_MJ = 1e-3
_PERIOD_S = 0.1
"""20 to 100 ms by generation: Yang, Adamek, Armour, "Part-time Power Measurements: nvidia-smi's
Lack of Attention" (2023); PETSc's PetscLogGpuEnergyMeter says the same of this counter."""
_CLOCK_REASONS: Mapping[int, str] = {
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


def load_nvml() -> Any:
    """Import the module pynvml.

    Raises:
        Unavailable: it is not installed.
    """
    try:
        return import_module("pynvml")
    except ImportError as error:
        raise Unavailable("the package nvidia-ml-py is not installed") from error


def open_nvidia_gpu(nvml: Any = None, uuid: str | None = None) -> tuple[Any, Any]:
    """The initialised library and its handle of the GPU."""
    library = nvml or load_nvml()
    library.nvmlInit()
    if uuid is not None:
        return library, library.nvmlDeviceGetHandleByUUID(uuid)
    count = library.nvmlDeviceGetCount()
    if count != 1:
        raise Unavailable(
            f"NVML sees {count} GPUs, so the one at work is not known: make one visible"
        )
    return library, library.nvmlDeviceGetHandleByIndex(0)


def nvidia_driver(nvml: Any = None) -> dict[str, str]:
    """The driver's name and version; needs no GPU."""
    library = nvml or load_nvml()
    library.nvmlInit()
    return {"nvidia-driver": str(library.nvmlSystemGetDriverVersion())}


def used_bytes(uuid: str | None = None, nvml: Any = None) -> int:
    """Memory of the GPU that all processes together use."""
    library, device = open_nvidia_gpu(nvml, uuid)
    return int(library.nvmlDeviceGetMemoryInfo(device).used)


def nvidia_state_reader(nvml: Any = None, uuid: str | None = None) -> Callable[[], DeviceState]:
    """A function that reads clock, temperature and throttle reasons of the GPU."""
    library, device = open_nvidia_gpu(nvml, uuid)
    return partial(_read_state, library, device)


def _read_state(library: Any, device: Any) -> DeviceState:
    clock_mhz = library.nvmlDeviceGetClockInfo(device, library.NVML_CLOCK_SM)
    temperature = library.nvmlDeviceGetTemperatureV(device, library.NVML_TEMPERATURE_GPU)
    reasons = library.nvmlDeviceGetCurrentClocksEventReasons(device)
    return DeviceState(
        clock_hz=clock_mhz * _HERTZ_PER_MHZ,
        temperature_c=temperature,
        throttle_reasons=[name for bit, name in _CLOCK_REASONS.items() if reasons & bit],
    )


def nvidia_energy_counters(nvml: Any = None, uuid: str | None = None) -> list[Counter]:
    """The energy counter of the GPU, which NVML has from Volta on."""
    library, device = open_nvidia_gpu(nvml, uuid)

    def read() -> float:
        return float(library.nvmlDeviceGetTotalEnergyConsumption(device) * _JOULES_PER_MJ)

    read()
    return [Counter("NVML total energy of the GPU", _PERIOD_S, read, part="board")]
