"""AMD GPUs through AMD SMI: driver, build, state and energy of the GPU that works.

`amdsmi` is everywhere AMD's module of that name, or a test's stand-in for it; `pci_address` names
the GPU. All functions raise `Unavailable` if the library is missing, or if there is no address and
several GPUs are visible.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.vendors.base import Counter, DeviceBuild, Violations, known

_HERTZ_PER_MHZ = 1_000_000
_NONE = 2**63  # from here on, a number says that the GPU tells none
_JOULES_PER_UJ = 1e-6
_PERIOD_S = 0.1
"""The driver hands out the firmware's table as it was up to 1 ms, in older kernels up to 100 ms
ago: Linux, drivers/gpu/drm/amd/pm/swsmu, `metrics_time`."""
_VIOLATIONS: Mapping[str, str] = {
    "acc_ppt_pwr": "PackagePower",
    "acc_prochot_thrm": "ProcessorHot",
    "acc_socket_thrm": "SocketThermal",
    "acc_vr_thrm": "VoltageRegulatorThermal",
    "acc_hbm_thrm": "MemoryThermal",
}
"""Keys of `amdsmi_get_violation_status`, from MI300 on, that count moments in which the clock was
held down; other GPUs count none."""
_MOMENTS = "acc_counter"  # the key that counts all moments
_WATTS_PER_UW = 1e-6
_BYTES_PER_MB = 1 << 20
_WHOLE = "SPX"  # the partition that is the whole GPU
_UNNAMED_PART = "part"


def open_amd_gpu(amdsmi: Any = None, pci_address: str | None = None) -> tuple[Any, Any]:
    """The initialised library and its handle of the GPU, the first one of a divided GPU.

    Each part has a handle. Its number stands in the place of the address' function, and the first
    one alone tells of the whole GPU: AMD SMI's changelog, "Fixed partition enumeration".
    """
    library, devices = _devices(amdsmi)
    if len(devices) == 1:
        return library, devices[0]
    boards: dict[str, Any] = {}
    for device in sorted(devices, key=library.amdsmi_get_gpu_device_bdf):
        boards.setdefault(_slot(library.amdsmi_get_gpu_device_bdf(device)), device)
    slot = next(iter(boards)) if len(boards) == 1 else _slot(pci_address or "")
    if slot not in boards:
        raise Unavailable(
            f"AMD SMI sees {len(boards)} GPUs, so the one at work is not known: make one visible"
        )
    return library, boards[slot]


def _devices(amdsmi: Any) -> tuple[Any, Sequence[Any]]:
    try:
        library = amdsmi or import_module("amdsmi")
    except Exception as error:  # it raises OSError, KeyError, AttributeError where ROCm is absent
        raise Unavailable(f"the package amdsmi cannot be used: {error}") from error
    library.amdsmi_init()
    return library, library.amdsmi_get_processor_handles()


def _slot(address: str) -> str:
    return address.lower().rpartition(".")[0]


def amd_driver(amdsmi: Any = None) -> dict[str, str]:
    library, devices = _devices(amdsmi)
    driver = library.amdsmi_get_gpu_driver_info(devices[0])
    return {str(driver["driver_name"]): str(driver["driver_version"])}


@dataclass(frozen=True)
class WatchedAmdGpu:
    """A GPU by AMD SMI."""

    library: Any
    device: Any

    def state(self) -> DeviceState:
        library, device = self.library, self.device
        clock_mhz = _number(library.amdsmi_get_clock_info(device, library.AmdSmiClkType.GFX)["clk"])
        temperature = library.amdsmi_get_temp_metric(
            device, library.AmdSmiTemperatureType.HOTSPOT, library.AmdSmiTemperatureMetric.CURRENT
        )
        return DeviceState(
            clock_hz=None if clock_mhz is None else clock_mhz * _HERTZ_PER_MHZ,
            temperature_c=temperature,
        )

    def violations(self) -> Violations | None:
        """Moments in which the firmware held its clock down."""
        status = self.library.amdsmi_get_violation_status(self.device)
        moments = _number(status.get(_MOMENTS))
        counts = {name: _number(status.get(key)) for key, name in _VIOLATIONS.items()}
        held = {name: float(count) for name, count in counts.items() if count is not None}
        if moments is None or not held:
            return None
        return Violations(held, dict.fromkeys(held, float(moments)))


def watch_amd_gpu(amdsmi: Any = None, pci_address: str | None = None) -> WatchedAmdGpu:
    return WatchedAmdGpu(*open_amd_gpu(amdsmi, pci_address))


def amd_build(amdsmi: Any = None, pci_address: str | None = None) -> DeviceBuild:
    """The build and the settings of the GPU; AMD SMI tells no part's own size."""
    library, device = open_amd_gpu(amdsmi, pci_address)
    build = _whole_build(library, device)
    partition = _partition(library, device)
    if partition is None:
        return build
    return replace(
        build, device_partition=partition, device_memory_bytes=None, device_compute_units=None
    )


def _partition(library: Any, device: Any) -> str | None:
    """The name of the GPU's division; None if it is whole, by its address where it has no name."""
    name = known(lambda: str(library.amdsmi_get_gpu_compute_partition(device)))
    if name is None and not library.amdsmi_get_gpu_device_bdf(device).endswith(".0"):
        return _UNNAMED_PART
    return None if name in (_WHOLE, "N/A") else name


def _whole_build(library: Any, device: Any) -> DeviceBuild:
    power_uw = known(lambda: _size(library.amdsmi_get_power_cap_info(device)["power_cap"]))
    memory_mb = known(lambda: _size(library.amdsmi_get_gpu_vram_info(device)["vram_size"]))
    link = known(lambda: library.amdsmi_get_pcie_info(device)["pcie_metric"])
    return DeviceBuild(
        device_power_limit_watts=None if power_uw is None else power_uw * _WATTS_PER_UW,
        device_ecc=known(lambda: bool(library.amdsmi_get_gpu_ecc_enabled(device))),
        device_pcie_width=_size(link and link.get("pcie_width")),
        device_memory_bytes=None if memory_mb is None else memory_mb * _BYTES_PER_MB,
        device_compute_units=known(
            lambda: _size(library.amdsmi_get_gpu_asic_info(device)["num_compute_units"])
        ),
    )


def _size(value: object) -> int | None:
    """A number above zero, as GPUs without a slot or memory of their own tell none."""
    return _number(value) or None


def _number(value: object) -> int | None:
    """A whole number; None for `N/A`, and for the largest one, which says the same."""
    if not isinstance(value, int) or isinstance(value, bool) or value >= _NONE:
        return None
    return value


def amd_energy_counters(amdsmi: Any = None, pci_address: str | None = None) -> list[Counter]:
    library, device = open_amd_gpu(amdsmi, pci_address)
    if partition := _partition(library, device):
        raise Unavailable(f"AMD SMI counts the energy of all parts of the GPU ({partition})")

    def read() -> float:
        count = library.amdsmi_get_energy_count(device)
        # Before 6.2.1 the accumulator was called `power`.
        ticks = count["energy_accumulator"] if "energy_accumulator" in count else count["power"]
        return float(ticks * count["counter_resolution"] * _JOULES_PER_UJ)

    read()
    return [Counter("AMD SMI energy of the GPU", _PERIOD_S, read, part="board")]
