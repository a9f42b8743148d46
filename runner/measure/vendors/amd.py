"""AMD's library of management, and the GPU in it that works."""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.vendors.counter import Counter


def gpu_of(amdsmi: Any = None) -> tuple[Any, Any]:
    """The library, ready, and its handle of the only GPU that is visible.

    `amdsmi` is AMD's module of that name, or what stands in for it.

    Raises:
        Unavailable: the library is missing, or the visible GPUs are not exactly one.
    """
    library = amdsmi or _load()
    library.amdsmi_init()
    devices = library.amdsmi_get_processor_handles()
    if len(devices) != 1:
        raise Unavailable(
            f"AMD SMI sees {len(devices)} GPUs, so which one works is not known: show it one"
        )
    return library, devices[0]


def _load() -> Any:
    try:
        return import_module("amdsmi")
    except Exception as error:  # it raises OSError, KeyError, AttributeError where ROCm is absent
        raise Unavailable(f"the package amdsmi cannot be used: {error}") from error


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


MICRO = 1e-6
PERIOD_S = 0.1
"""The driver hands out the firmware's table as it was up to 1 ms, in older kernels up to 100 ms
ago: Linux, drivers/gpu/drm/amd/pm/swsmu, `metrics_time`."""


def gpu_amd(amdsmi: Any = None) -> list[Counter]:
    """The counter of the only GPU that is visible.

    `amdsmi` is AMD's module of that name, or what stands in for it.

    Raises:
        Unavailable: the library is missing, or the visible GPUs are not exactly one.
    """
    library, device = gpu_of(amdsmi)

    def read() -> float:
        count = library.amdsmi_get_energy_count(device)
        # Before 6.2.1 the accumulator was called `power`.
        ticks = count["energy_accumulator"] if "energy_accumulator" in count else count["power"]
        return float(ticks * count["counter_resolution"] * MICRO)

    read()
    return [Counter("AMD SMI energy of the GPU", PERIOD_S, read)]
