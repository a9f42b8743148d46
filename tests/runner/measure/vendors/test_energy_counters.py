"""Energy as the vendors' libraries count it."""

from dataclasses import dataclass

import pytest

from runner.contract.errors import Unavailable
from runner.measure.energy import EnergyMeter
from runner.measure.vendors.amd import amd_energy_counters
from runner.measure.vendors.counters import apple_cpu_counters, apple_gpu_counters
from runner.measure.vendors.nvidia import nvidia_energy_counters
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
