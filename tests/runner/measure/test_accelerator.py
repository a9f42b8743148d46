"""State of a GPU, read from stand-ins for the libraries of vendors."""

from typing import Any

import pytest

from runner.contract.errors import Unavailable
from runner.contract.rounds import DeviceState
from runner.measure.accelerator import AcceleratorReader, device_build
from runner.measure.vendors import amd, nvidia
from runner.measure.vendors.base import DeviceBuild, Violations
from tests.support.vendors import AmdSmi, Nvml, OlderAmdSmi
from tests.support.words import raises_words


def reader(library: Any, uuid: str | None = None) -> AcceleratorReader:
    return AcceleratorReader(lambda: nvidia.watch_nvidia_gpu(library, uuid))


def test_nvml_reports_clock_and_temperature_and_what_held_the_clock_down_in_between() -> None:
    gpu = Nvml()
    watched = reader(gpu)
    watched.begin()
    gpu.at_us += 1_000
    gpu.held_ns[0] += 250_000
    expected = DeviceState(clock_hz=1_980e6, temperature_c=64, throttled={"Power": 0.25})
    assert watched.read() == expected
    watched.begin()
    gpu.at_us += 1_000
    assert (watched.read() or expected).throttled == {}


@pytest.mark.parametrize("uuid", ["MIG-0", "GPU-7"], ids=["NVML's", "torch's"])
def test_a_slice_is_watched_by_its_board(uuid: str) -> None:
    assert nvidia.open_nvidia_gpu(Nvml(), uuid)[1] == "slice"
    assert nvidia.watch_nvidia_gpu(Nvml(), uuid).state().clock_hz == 1_980e6


def test_of_several_gpus_the_one_with_the_uuid_is_read() -> None:
    assert nvidia.watch_nvidia_gpu(Nvml(devices=2), "GPU-1").state().clock_hz == 1_410e6
    with raises_words(Unavailable, match="NVML sees 2 GPUs"):
        nvidia.watch_nvidia_gpu(Nvml(devices=2))


def test_amd_smi_reports_the_same_and_older_gpus_count_nothing() -> None:
    gpu = AmdSmi()
    watched = AcceleratorReader(lambda: amd.watch_amd_gpu(gpu))
    watched.begin()
    gpu.moments += 1_000
    state = watched.read()
    assert state == DeviceState(clock_hz=2_100e6, temperature_c=71, throttled={"PackagePower": 0.5})
    with raises_words(Unavailable, match="AMD SMI sees 2 GPUs"):
        amd.watch_amd_gpu(AmdSmi(devices=2))
    older = AcceleratorReader(lambda: amd.watch_amd_gpu(OlderAmdSmi(clock="N/A")))
    older.begin()
    assert older.read() == DeviceState(clock_hz=None, temperature_c=71, throttled=None)


def test_whatever_a_library_raises_leaves_the_state_unknown() -> None:
    class Lost:
        def state(self) -> DeviceState:
            raise RuntimeError("GPU is lost")

        def violations(self) -> Violations:
            raise RuntimeError("GPU is lost")

    lost = AcceleratorReader(Lost)
    lost.begin()
    assert lost.read() is None
    assert reader(Nvml(devices=2)).read() is None
    assert reader(Nvml()).read() is not None


class Cuda:
    """The driver of one GPU with 132 multiprocessors."""

    def cuInit(self, flags: int) -> int:  # noqa: N802
        return flags

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 1
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:  # noqa: N802
        return index

    def cuDeviceGetAttribute(self, value: Any, attribute: int, device: Any) -> int:  # noqa: N802
        value._obj.value = 132 if attribute == 16 else 0
        return 0


def test_the_build_of_an_nvidia_gpu() -> None:
    assert nvidia.nvidia_build(Nvml(), driver=lambda _: Cuda()) == DeviceBuild(
        device_power_limit_watts=350,
        device_ecc=True,
        device_pcie_width=16,
        device_memory_bytes=1_000,
        device_compute_units=132,
    )
    name = "NVIDIA H100 80GB HBM3 MIG 1g.10gb"
    part = nvidia.nvidia_build(Nvml(name=name), "MIG-0", lambda _: Cuda())
    expected = ("1g.10gb", 500, 350)
    found = (part.device_partition, part.device_memory_bytes, part.device_power_limit_watts)
    assert found == expected


def test_the_build_of_an_amd_gpu() -> None:
    gpu = AmdSmi()
    assert device_build("rocm", library=gpu) == DeviceBuild(
        device_power_limit_watts=750,
        device_pcie_width=16,
        device_memory_bytes=196_592 << 20,
        device_compute_units=304,
    )
    gpu.pcie_width = 0
    assert device_build("rocm", library=gpu).device_pcie_width is None


@pytest.mark.parametrize(
    ("devices", "partition", "address", "watts"),
    [
        (1, "CPX", None, 750),
        (2, "SPX", "0000:1c:00.0", 700),
        (2, "CPX", "0000:1C:00.0", 700),
        (2, "QPX", "0000:0c:00.3", 750),
        (2, "CPX", None, None),
        (2, "CPX", "0000:ff:00.0", None),
    ],
)
def test_of_several_amd_gpus_and_of_all_parts_the_one_at_the_address_is_read(
    devices: int, partition: str, address: str | None, watts: int | None
) -> None:
    gpus = AmdSmi(devices=devices, partition=partition)
    build = device_build("rocm", None, address, gpus)
    assert build.device_power_limit_watts == watts
    assert build.device_partition == (None if partition == "SPX" or not watts else partition)
    assert (build.device_compute_units is None) == (build.device_partition is not None or not watts)
    state = AcceleratorReader(lambda: amd.watch_amd_gpu(gpus, address)).read()
    assert (state is None) == (watts is None)
