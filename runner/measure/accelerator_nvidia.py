"""An NVIDIA GPU's clock, temperature and what slows it down, as NVML tells them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from runner.measure.nvml import gpu_of
from runner.part import DeviceState

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
