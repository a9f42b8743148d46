"""A GPU's state, told by vendors' libraries that objects with the same functions play."""

from enum import IntEnum
from typing import Any

import pytest

from runner.errors import Unavailable
from runner.measure import accelerator_amd, accelerator_nvidia
from runner.measure.accelerator import AcceleratorGauge, accelerator_gauge
from runner.part import DeviceState

UUID = "GPU-5e1b2c0a-0000-4d5e-8f90-000000000002"


class Nvml:
    """As pynvml: MHz, °C and a mask of bits."""

    NVML_CLOCK_SM = 1
    NVML_TEMPERATURE_GPU = 0

    def __init__(self, reasons: int = 0, devices: int = 1) -> None:
        self._reasons = reasons
        self._devices = devices

    def nvmlInit(self) -> None:  # noqa: N802
        """Nothing to do."""

    def nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return self._devices

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:  # noqa: N802
        return f"device {index}"

    def nvmlDeviceGetHandleByUUID(self, uuid: str) -> str:  # noqa: N802
        if uuid != UUID:
            raise RuntimeError("Not Found")
        return "device 1"

    def nvmlDeviceGetClockInfo(self, device: str, kind: int) -> int:  # noqa: N802
        assert kind == self.NVML_CLOCK_SM
        return {"device 0": 1_980, "device 1": 1_410}[device]

    def nvmlDeviceGetTemperatureV(self, device: str, sensor: int) -> int:  # noqa: N802
        assert sensor == self.NVML_TEMPERATURE_GPU
        return 64

    def nvmlDeviceGetCurrentClocksEventReasons(self, device: str) -> int:  # noqa: N802
        return self._reasons


class AmdSmi:
    """As amdsmi on MI300: violations, and keys that say `N/A`."""

    class AmdSmiClkType(IntEnum):
        """As the library's."""

        GFX = 1

    class AmdSmiTemperatureType(IntEnum):
        """As the library's."""

        HOTSPOT = 1

    class AmdSmiTemperatureMetric(IntEnum):
        """As the library's."""

        CURRENT = 0

    def __init__(self, clock: int | str = 2_100, devices: int = 1) -> None:
        self._clock = clock
        self._devices = devices

    def amdsmi_init(self) -> None:
        """Nothing to do."""

    def amdsmi_get_processor_handles(self) -> list[str]:
        return ["device"] * self._devices

    def amdsmi_get_clock_info(self, device: str, kind: IntEnum) -> dict[str, Any]:
        assert kind is self.AmdSmiClkType.GFX
        return {"clk": self._clock, "max_clk": 2_100}

    def amdsmi_get_temp_metric(self, device: str, sensor: IntEnum, metric: IntEnum) -> int:
        assert (sensor, metric) == (1, 0)
        return 71

    def amdsmi_get_violation_status(self, device: str) -> dict[str, Any]:
        return {"active_ppt_pwr": True, "active_vr_thrm": "N/A", "active_hbm_thrm": False}


class OlderAmdSmi(AmdSmi):
    """The same before MI300."""

    def amdsmi_get_violation_status(self, device: str) -> dict[str, Any]:
        raise RuntimeError("AMDSMI_STATUS_NOT_SUPPORTED")

    def amdsmi_get_gpu_metrics_info(self, device: str) -> dict[str, Any]:
        return {"throttle_status": True, "indep_throttle_status": 4}


@pytest.mark.parametrize(
    ("mask", "reasons"),
    [
        (0, []),
        (0x1, []),
        (0x4 | 0x40, ["SwPowerCap", "HwThermalSlowdown"]),
        (0x2, ["ApplicationsClocksSetting"]),
    ],
    ids=["none", "idle", "power and heat", "somebody's setting"],
)
def test_nvml_tells_clock_temperature_and_reasons(mask: int, reasons: list[str]) -> None:
    state = accelerator_nvidia.gpu(Nvml(mask))()
    assert state == DeviceState(clock_hz=1_980e6, temperature_c=64, throttle_reasons=reasons)


def test_of_several_gpus_the_one_with_the_uuid_is_read() -> None:
    assert accelerator_nvidia.gpu(Nvml(devices=2), UUID)().clock_hz == 1_410e6
    with pytest.raises(Unavailable, match="NVML sees 2 GPUs"):
        accelerator_nvidia.gpu(Nvml(devices=2))


def test_amd_smi_tells_the_same() -> None:
    state = accelerator_amd.gpu(AmdSmi())()
    assert state == DeviceState(
        clock_hz=2_100e6, temperature_c=71, throttle_reasons=["PackagePower"]
    )
    with pytest.raises(Unavailable, match="AMD SMI sees 2 GPUs"):
        accelerator_amd.gpu(AmdSmi(devices=2))


def test_older_amd_gpus_tell_that_they_throttle_but_not_why() -> None:
    state = accelerator_amd.gpu(OlderAmdSmi(clock="N/A"))()
    assert (state.clock_hz, state.throttle_reasons) == (None, ["throttle_status"])


def test_whatever_a_library_raises_leaves_the_state_unknown() -> None:
    def unreadable() -> DeviceState:
        raise RuntimeError("GPU is lost")

    assert AcceleratorGauge(lambda: unreadable).read() is None
    assert AcceleratorGauge(lambda: accelerator_nvidia.gpu(Nvml(devices=2))).read() is None
    assert AcceleratorGauge(lambda: accelerator_nvidia.gpu(Nvml())).read() is not None


@pytest.mark.parametrize("backend", ["cpu", "openvino", "mps", "cuda", "rocm"])
def test_where_there_is_no_accelerator_there_is_no_state(backend: Any) -> None:
    assert accelerator_gauge(backend, "GPU-none").read() is None
