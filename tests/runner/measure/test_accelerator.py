"""State of a GPU, read from stand-ins for the libraries of vendors."""

from typing import Any

import pytest

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.accelerator import AcceleratorReader, accelerator_reader
from runner.measure.vendors import amd, nvidia
from tests.support.vendors import AmdSmi, Nvml, OlderAmdSmi


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
def test_nvml_reports_clock_temperature_and_reasons(mask: int, reasons: list[str]) -> None:
    state = nvidia.nvidia_state_reader(Nvml(mask))()
    assert state == DeviceState(clock_hz=1_980e6, temperature_c=64, throttle_reasons=reasons)


def test_of_several_gpus_the_one_with_the_uuid_is_read() -> None:
    assert nvidia.nvidia_state_reader(Nvml(devices=2), "GPU-1")().clock_hz == 1_410e6
    with pytest.raises(Unavailable, match="NVML sees 2 GPUs"):
        nvidia.nvidia_state_reader(Nvml(devices=2))


def test_amd_smi_reports_the_same_and_older_gpus_not_why_they_throttle() -> None:
    state = amd.amd_state_reader(AmdSmi())()
    assert (state.clock_hz, state.temperature_c) == (2_100e6, 71)
    assert state.throttle_reasons == ["PackagePower"]
    with pytest.raises(Unavailable, match="AMD SMI sees 2 GPUs"):
        amd.amd_state_reader(AmdSmi(devices=2))
    older = amd.amd_state_reader(OlderAmdSmi(clock="N/A"))()
    assert (older.clock_hz, older.throttle_reasons) == (None, ["throttle_status"])


def test_whatever_a_library_raises_leaves_the_state_unknown() -> None:
    def unreadable() -> DeviceState:
        raise RuntimeError("GPU is lost")

    assert AcceleratorReader(lambda: unreadable).read() is None
    assert AcceleratorReader(lambda: nvidia.nvidia_state_reader(Nvml(devices=2))).read() is None
    assert AcceleratorReader(lambda: nvidia.nvidia_state_reader(Nvml())).read() is not None


@pytest.mark.parametrize("backend", ["cpu", "openvino", "mps", "cuda", "rocm"])
def test_where_there_is_no_accelerator_there_is_no_state(backend: Any) -> None:
    assert accelerator_reader(backend, "GPU-none").read() is None
