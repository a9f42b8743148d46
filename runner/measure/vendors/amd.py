"""AMD GPUs through AMD SMI: driver, state and energy of the only GPU that is visible.

`amdsmi` is everywhere AMD's module of that name, or a test's stand-in for it. All functions raise
`Unavailable` if the library is missing, or if the visible GPUs are not exactly one.
"""

from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.vendors.counter import Counter

_HERTZ_PER_MHZ = 1_000_000
_JOULES_PER_UJ = 1e-6
_PERIOD_S = 0.1
"""The driver hands out the firmware's table as it was up to 1 ms, in older kernels up to 100 ms
ago: Linux, drivers/gpu/drm/amd/pm/swsmu, `metrics_time`."""
_VIOLATIONS: Mapping[str, str] = {
    "active_ppt_pwr": "PackagePower",
    "active_prochot_thrm": "ProcessorHot",
    "active_socket_thrm": "SocketThermal",
    "active_vr_thrm": "VoltageRegulatorThermal",
    "active_hbm_thrm": "MemoryThermal",
}
"""Keys of `amdsmi_get_violation_status`, from MI300 on; other GPUs report only that they throttle,
not the reason."""
_NO_REASON = "throttle_status"
"""Key of the GPU's metrics that is true while it throttles, and our name for an unknown reason."""


def open_amd_gpu(amdsmi: Any = None) -> tuple[Any, Any]:
    """The initialised library and its handle of the GPU."""
    library = amdsmi or _load()
    library.amdsmi_init()
    devices = library.amdsmi_get_processor_handles()
    if len(devices) != 1:
        raise Unavailable(
            f"AMD SMI sees {len(devices)} GPUs, so the one at work is not known: make one visible"
        )
    return library, devices[0]


def _load() -> Any:
    try:
        return import_module("amdsmi")
    except Exception as error:  # it raises OSError, KeyError, AttributeError where ROCm is absent
        raise Unavailable(f"the package amdsmi cannot be used: {error}") from error


def amd_driver(amdsmi: Any = None) -> dict[str, str]:
    """The driver's name and version."""
    library, device = open_amd_gpu(amdsmi)
    driver = library.amdsmi_get_gpu_driver_info(device)
    return {str(driver["driver_name"]): str(driver["driver_version"])}


def amd_state_reader(amdsmi: Any = None) -> Callable[[], DeviceState]:
    """A function that reads clock, temperature and throttle reasons of the GPU."""
    library, device = open_amd_gpu(amdsmi)
    return partial(_read_state, library, device)


def _read_state(library: Any, device: Any) -> DeviceState:
    clock_mhz = library.amdsmi_get_clock_info(device, library.AmdSmiClkType.GFX)["clk"]
    temperature = library.amdsmi_get_temp_metric(
        device, library.AmdSmiTemperatureType.HOTSPOT, library.AmdSmiTemperatureMetric.CURRENT
    )
    known = isinstance(clock_mhz, int)  # else it is "N/A"
    return DeviceState(
        clock_hz=clock_mhz * _HERTZ_PER_MHZ if known else None,
        temperature_c=temperature,
        throttle_reasons=_throttle_reasons(library, device),
    )


def _throttle_reasons(library: Any, device: Any) -> list[str]:
    try:
        status = library.amdsmi_get_violation_status(device)
    except Exception:  # AmdSmiLibraryException, of a module that may not be there: not supported
        throttled = library.amdsmi_get_gpu_metrics_info(device)[_NO_REASON]
        return [_NO_REASON] if throttled is True else []
    return [name for key, name in _VIOLATIONS.items() if status.get(key) is True]


def amd_energy_counters(amdsmi: Any = None) -> list[Counter]:
    """The energy counter of the GPU."""
    library, device = open_amd_gpu(amdsmi)

    def read() -> float:
        count = library.amdsmi_get_energy_count(device)
        # Before 6.2.1 the accumulator was called `power`.
        ticks = count["energy_accumulator"] if "energy_accumulator" in count else count["power"]
        return float(ticks * count["counter_resolution"] * _JOULES_PER_UJ)

    read()
    return [Counter("AMD SMI energy of the GPU", _PERIOD_S, read, part="board")]
