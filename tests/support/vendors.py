"""Stand-ins for the libraries of vendors."""

from collections.abc import Sequence
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

CLOCKS_MHZ = {"device 0": 1_980, "device 1": 1_410}
DEVICES = {"GPU-0": "device 0", "GPU-1": "device 1", "MIG-0": "slice", "MIG-7": "slice"}
"""NVML's handles by UUID."""
USED_BYTES = {"device 0": 1_000, "device 1": 2_000, "slice": 500}


class Nvml:
    """As pynvml: MHz, °C, a mask of bits, and energy in millijoules.

    The first GPU alone counts energy: the other is from before Volta.
    """

    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, devices: int = 1, name: str = "NVIDIA H100 80GB HBM3") -> None:
        self._devices = devices
        self._name = name
        self.energy_mj = 5_000
        self.at_us = 1_000_000
        self.held_ns = {0: 5_000, 1: 0, 2: 0, 3: 0}
        """Violations by policy; that of reliability is not supported."""

    def nvmlInit(self) -> None:  # noqa: N802
        """Nothing to do."""

    def nvmlSystemGetDriverVersion(self) -> str:  # noqa: N802
        """Of the whole machine."""
        return "580.95.05"

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return self._devices

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return f"device {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        if uuid not in DEVICES:
            raise RuntimeError("Not Found")
        return DEVICES[uuid]

    def nvmlDeviceGetClockInfo(self, device: str, kind: int) -> int:  # noqa: N802
        assert kind == self.NVML_CLOCK_SM
        return CLOCKS_MHZ[device]

    def nvmlDeviceGetTemperatureV(self, device: str, sensor: int) -> int:  # noqa: N802
        assert sensor == self.NVML_TEMPERATURE_GPU
        return 64

    def nvmlDeviceGetViolationStatus(self, device: str, policy: int) -> SimpleNamespace:  # noqa: N802
        """Microseconds of a clock, nanoseconds of violations."""
        assert device in DEVICES.values()
        return SimpleNamespace(referenceTime=self.at_us, violationTime=self.held_ns[policy])

    def nvmlDeviceGetName(self, device: str) -> str:  # noqa: N802
        return self._name

    def nvmlDeviceIsMigDeviceHandle(self, device: str) -> int:  # noqa: N802
        return int(device == "slice")

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, device: str) -> str:  # noqa: N802
        assert device == "slice"
        return "device 0"

    def nvmlDeviceGetEnforcedPowerLimit(self, device: str) -> int:  # noqa: N802
        assert device != "slice"
        return 350_000

    def nvmlDeviceGetEccMode(self, device: str) -> list[int]:  # noqa: N802
        return [1, 1]

    def nvmlDeviceGetCurrPcieLinkWidth(self, device: str) -> int:  # noqa: N802
        return 16

    def nvmlDeviceGetMaxPcieLinkGeneration(self, device: str) -> int:  # noqa: N802
        raise RuntimeError("Not Supported")

    def nvmlDeviceGetMemoryInfo(self, device: str) -> SimpleNamespace:  # noqa: N802
        """Bytes, as they are now."""
        return SimpleNamespace(used=USED_BYTES[device], free=0, total=USED_BYTES[device])

    def nvmlDeviceGetTotalEnergyConsumption(self, device: str) -> int:  # noqa: N802
        if device != DEVICES["GPU-0"]:
            raise RuntimeError("Not Supported")
        return self.energy_mj


PARTS = {"SPX": 1, "QPX": 4, "CPX": 8}
"""Parts of an AMD GPU by the name of its partition."""
POWER_CAPS_UW = {"0000:0c:00": 750_000_000, "0000:1c:00": 700_000_000}
"""Limits of both AMD GPUs, by their addresses without the function."""


class AmdSmi:
    """As amdsmi on MI300: violations, keys that say `N/A`, and ticks of 15.3 microjoules.

    Each part has a handle, here its address, and all but the first ones tell nothing.
    """

    AmdSmiClkType = IntEnum("AmdSmiClkType", {"GFX": 1})
    AmdSmiTemperatureType = IntEnum("AmdSmiTemperatureType", {"HOTSPOT": 1})
    AmdSmiTemperatureMetric = IntEnum("AmdSmiTemperatureMetric", {"CURRENT": 0})

    def __init__(
        self,
        clock: int | str = 2_100,
        energy_key: str = "energy_accumulator",
        devices: int = 1,
        partition: str = "SPX",
        handles: Sequence[str] = (),
    ) -> None:
        self._clock = clock
        self._energy_key = energy_key
        self._handles = list(handles) or [
            f"{slot}.{part}"
            for slot in list(POWER_CAPS_UW)[:devices]
            for part in range(PARTS[partition])
        ]
        self.moments = 1_000
        self.partition = partition
        self.pcie_width = 16

    def amdsmi_init(self) -> None:
        """Nothing to do."""

    def amdsmi_get_processor_handles(self) -> list[str]:
        return self._handles[::-1]

    def amdsmi_get_gpu_device_bdf(self, device: str) -> str:
        return device

    def amdsmi_get_gpu_driver_info(self, device: str) -> dict[str, str]:
        return {"driver_name": "amdgpu", "driver_version": "6.14.14", "driver_date": "2025/09/01"}

    def amdsmi_get_clock_info(self, device: str, kind: IntEnum) -> dict[str, Any]:
        assert kind is self.AmdSmiClkType.GFX
        _require_first(device)
        return {"clk": self._clock, "max_clk": 2_100}

    def amdsmi_get_temp_metric(self, device: str, sensor: IntEnum, metric: IntEnum) -> int:
        assert (sensor, metric) == (1, 0)
        return 71

    def amdsmi_get_violation_status(self, device: str) -> dict[str, Any]:
        """Moments of a low clock, and all moments."""
        return {
            "acc_counter": self.moments,
            "acc_ppt_pwr": self.moments // 2,
            "acc_vr_thrm": "N/A",
            "acc_hbm_thrm": 2**64 - 1,
            "acc_socket_thrm": 7,
        }

    def amdsmi_get_power_cap_info(self, device: str) -> dict[str, Any]:
        _require_first(device)
        return {"power_cap": POWER_CAPS_UW[device.removesuffix(".0")]}

    def amdsmi_get_gpu_vram_info(self, device: str) -> dict[str, Any]:
        return {"vram_size": 196_592}

    def amdsmi_get_gpu_compute_partition(self, device: str) -> str:
        _require_first(device)
        return self.partition

    def amdsmi_get_gpu_asic_info(self, device: str) -> dict[str, Any]:
        return {"num_compute_units": 304}

    def amdsmi_get_pcie_info(self, device: str) -> dict[str, Any]:
        return {"pcie_metric": {"pcie_width": self.pcie_width}}

    def amdsmi_get_energy_count(self, device: str) -> dict[str, Any]:
        """Ticks, and microjoules of one."""
        return {self._energy_key: 2_000_000, "counter_resolution": 15.3, "timestamp": 1}


def _require_first(device: str) -> None:
    if not device.endswith(".0"):
        raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")


class OlderAmdSmi(AmdSmi):
    """The same before MI300."""

    def amdsmi_get_violation_status(self, device: str) -> dict[str, Any]:
        """Not supported."""
        raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")
