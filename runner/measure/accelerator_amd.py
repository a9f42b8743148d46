"""An AMD GPU's clock, temperature and what slows it down, as AMD SMI tells them."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from runner.measure.amd_smi import gpu_of
from runner.part import DeviceState

MEGA = 1_000_000
VIOLATIONS: Mapping[str, str] = {
    "active_ppt_pwr": "PackagePower",
    "active_prochot_thrm": "ProcessorHot",
    "active_socket_thrm": "SocketThermal",
    "active_vr_thrm": "VoltageRegulatorThermal",
    "active_hbm_thrm": "MemoryThermal",
}
"""Keys of `amdsmi_get_violation_status`, from MI300 on; other GPUs tell that, not why."""
UNTOLD = "throttle_status"


def gpu(amdsmi: Any = None) -> Callable[[], DeviceState]:
    """How to read the only GPU that is visible.

    `amdsmi` is AMD's module of that name, or what stands in for it.

    Raises:
        Unavailable: the library is missing, or the visible GPUs are not exactly one.
    """
    library, device = gpu_of(amdsmi)
    return partial(_read, library, device)


def _read(library: Any, device: Any) -> DeviceState:
    clock_mhz = library.amdsmi_get_clock_info(device, library.AmdSmiClkType.GFX)["clk"]
    temperature = library.amdsmi_get_temp_metric(
        device, library.AmdSmiTemperatureType.HOTSPOT, library.AmdSmiTemperatureMetric.CURRENT
    )
    return DeviceState(
        clock_hz=clock_mhz * MEGA if isinstance(clock_mhz, int) else None,  # else it is "N/A"
        temperature_c=temperature,
        throttle_reasons=_reasons(library, device),
    )


def _reasons(library: Any, device: Any) -> list[str]:
    try:
        status = library.amdsmi_get_violation_status(device)
    except Exception:  # AmdSmiLibraryException, of a module that may not be there: not supported
        throttled = library.amdsmi_get_gpu_metrics_info(device)[UNTOLD]
        return [UNTOLD] if throttled is True else []
    return [name for key, name in VIOLATIONS.items() if status.get(key) is True]
