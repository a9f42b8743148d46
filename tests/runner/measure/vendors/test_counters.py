"""Energy as the vendors' libraries count it."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from runner.contract.errors import Unavailable
from runner.measure.energy import EnergyMeter
from runner.measure.vendors.amd import amd_energy_counters
from runner.measure.vendors.counters import (
    apple_cpu_counters,
    apple_gpu_counters,
    intel_gpu_addresses,
    intel_gpu_counters,
    rapl_counters,
)
from runner.measure.vendors.nvidia import nvidia_energy_counters, open_nvidia_gpu, used_bytes
from tests.support.fakes import FakeClock
from tests.support.vendors import AmdSmi, Nvml
from tests.support.words import raises_words


@dataclass
class Energies:
    """As zeus_apple_silicon.AppleEnergyMetrics: millijoules."""

    cpu_total_mj: int | None = 1_000
    gpu_mj: int | None = 2_000
    gpu_sram_mj: int | None = 300
    dram_mj: int | None = 40


class Monitor:
    """As zeus_apple_silicon.AppleEnergyMonitor."""

    def __init__(self, energies: Energies) -> None:
        self._energies = energies

    def get_cumulative_energy(self) -> Energies:
        return self._energies


def test_nvidia_counts_joules_of_the_gpu() -> None:
    nvml, clock = Nvml(), FakeClock()
    meter = EnergyMeter(lambda: nvidia_energy_counters(nvml), clock)
    meter.start()
    clock.pass_by(2_000_000_000)
    nvml.energy_mj += 700_000
    energy = meter.stop()
    assert energy.joules == pytest.approx(700)
    assert energy.method == "measured: NVML total energy of the GPU"


def test_of_several_gpus_the_one_with_the_uuid_is_counted_and_none_is_guessed() -> None:
    (counter,) = nvidia_energy_counters(Nvml(devices=2), "GPU-0")
    assert counter.read() == pytest.approx(5)
    for devices in (0, 2):
        with raises_words(Unavailable, match=f"NVML sees {devices} GPUs"):
            nvidia_energy_counters(Nvml(devices=devices))
    with raises_words(Unavailable, match="AMD SMI sees 2 GPUs"):
        amd_energy_counters(AmdSmi(devices=2))
    (counter,) = amd_energy_counters(AmdSmi(devices=2), "0000:1c:00.0")
    assert counter.read() == pytest.approx(30.6)


@pytest.mark.parametrize("key", ["energy_accumulator", "power"])
def test_amd_counts_ticks_of_the_given_resolution(key: str) -> None:
    (counter,) = amd_energy_counters(AmdSmi(energy_key=key))
    assert counter.read() == pytest.approx(30.6)


def test_apple_counts_the_parts_that_the_backend_works_on_and_the_chip_shows() -> None:
    cpu = {counter.name: counter.read() for counter in apple_cpu_counters(Monitor(Energies()))}
    assert cpu == {"Apple cpu_total": 1.0, "Apple dram": 0.04}
    gpu = {counter.name: counter.read() for counter in apple_gpu_counters(Monitor(Energies()))}
    assert gpu == {"Apple gpu": 2.0, "Apple gpu_sram": 0.3, "Apple dram": 0.04}
    (alone,) = apple_cpu_counters(Monitor(Energies(dram_mj=None)))
    assert alone.name == "Apple cpu_total"
    with raises_words(Unavailable, match="this chip shows no energy of its gpu"):
        apple_gpu_counters(Monitor(Energies(gpu_mj=None)))


RANGE_UJ = 262_143_328_850


def zone(path: Path, name: str, energy_uj: int = 5_000_000) -> Path:
    """A zone as the kernel's powercap shows it."""
    path.mkdir(parents=True)
    (path / "name").write_text(f"{name}\n")
    (path / "energy_uj").write_text(f"{energy_uj}\n")
    (path / "max_energy_range_uj").write_text(f"{RANGE_UJ}\n")
    return path


def server(powercap: Path) -> Path:
    """Two packages with all that a kernel may show beside them."""
    for number in (0, 1):
        package = zone(powercap / f"intel-rapl:{number}", f"package-{number}")
        for child, name in enumerate(("core", "uncore", "dram")):
            subzone = zone(package / f"intel-rapl:{number}:{child}", name)
            (powercap / subzone.name).symlink_to(subzone)
    zone(powercap / "intel-rapl:2", "psys")
    zone(powercap / "intel-rapl-mmio:0", "package-0")
    (powercap / "intel-rapl").mkdir()
    return powercap


def test_packages_and_their_memory_are_counted_each_once(tmp_path: Path) -> None:
    assert [counter.name for counter in rapl_counters(server(tmp_path))] == [
        "RAPL package-0",
        "RAPL package-0 dram",
        "RAPL package-1",
        "RAPL package-1 dram",
    ]


def test_readings_are_joules_that_a_meter_follows_beyond_their_end(tmp_path: Path) -> None:
    package = zone(tmp_path / "intel-rapl:0", "package-0", RANGE_UJ - 3_000_000)
    (counter,) = rapl_counters(tmp_path)
    assert counter.read() == pytest.approx((RANGE_UJ - 3_000_000) / 1e6)
    assert counter.wraps_at_j == pytest.approx(RANGE_UJ / 1e6)
    clock = FakeClock()
    meter = EnergyMeter(lambda: rapl_counters(tmp_path), clock)
    meter.start()
    clock.pass_by(1_000_000_000)
    (package / "energy_uj").write_text("7000000\n")
    assert meter.stop().joules == pytest.approx(10)


def test_counters_that_are_not_there_or_may_not_be_read_are_named(tmp_path: Path) -> None:
    with raises_words(Unavailable, match="shows no RAPL packages; containers and guests see none"):
        rapl_counters(tmp_path / "powercap")
    path = zone(tmp_path / "intel-rapl:0", "package-0") / "energy_uj"
    path.unlink()
    path.mkdir()
    with raises_words(Unavailable, match=r"energy_uj: Is a directory; only root may read RAPL"):
        rapl_counters(tmp_path)


ARC, SECOND_ARC, INTEGRATED = "0000:03:00.0", "0000:04:00.0", "0000:00:02.0"


def card(sys: Path, address: str, vendor: str = "0x8086", kind: str = "0x030000") -> Path:
    """A device as PCI lists it."""
    device = sys / "bus" / "pci" / "devices" / address
    device.mkdir(parents=True)
    (device / "vendor").write_text(f"{vendor}\n")
    (device / "class").write_text(f"{kind}\n")
    return device


def monitor(sys: Path, number: int, name: str, device: Path, **energies: int) -> None:
    """A monitor as hwmon lists it, with its energies in microjoules."""
    folder = sys / "class" / "hwmon" / f"hwmon{number}"
    folder.mkdir(parents=True)
    (folder / "name").write_text(f"{name}\n")
    (folder / "device").symlink_to(device)
    for file, energy in energies.items():
        (folder / file).write_text(f"{energy}\n")


def test_the_card_that_works_is_counted_and_neither_its_tiles_nor_others(tmp_path: Path) -> None:
    arc, other = card(tmp_path, ARC), card(tmp_path, SECOND_ARC)
    monitor(tmp_path, 0, "coretemp", tmp_path, energy1_input=1)
    monitor(tmp_path, 1, "i915_gt0", arc, energy1_input=2)
    monitor(tmp_path, 2, "i915", arc, energy1_input=5_000_000)
    monitor(tmp_path, 3, "xe", other, energy1_input=9_000_000, energy2_input=8_000_000)
    (counter,) = intel_gpu_counters(ARC, tmp_path)
    assert (counter.read(), counter.part) == (5, "board")
    assert counter.longest_s == pytest.approx(262, abs=1)
    (counter,) = intel_gpu_counters(SECOND_ARC, tmp_path)
    assert (counter.read(), counter.part) == (9, "board")
    with raises_words(Unavailable, match=f"GPU [?]: hwmon has {ARC}, {SECOND_ARC}"):
        intel_gpu_counters(None, tmp_path)


def test_cards_are_told_from_the_gpu_in_the_package_and_from_other_makers(tmp_path: Path) -> None:
    card(tmp_path, ARC)
    card(tmp_path, INTEGRATED)
    card(tmp_path, "0000:05:00.0", vendor="0x10de")
    card(tmp_path, "0000:06:00.0", kind="0x020000")
    assert intel_gpu_addresses(tmp_path) == [ARC]


def test_the_gpu_with_that_uuid_or_the_only_one_is_asked() -> None:
    assert open_nvidia_gpu(Nvml(devices=2), "GPU-1")[1] == "device 1"
    assert open_nvidia_gpu(Nvml())[1] == "device 0"


def test_one_of_several_without_a_uuid_is_not_guessed() -> None:
    with raises_words(Unavailable, match="NVML sees 2 GPUs"):
        used_bytes(nvml=Nvml(devices=2))


def test_used_memory_is_that_gpus() -> None:
    assert used_bytes("GPU-0", Nvml(devices=2)) == 1_000
    assert used_bytes("GPU-1", Nvml(devices=2)) == 2_000
