from pathlib import Path

import pytest

from runner.contract.errors import Unavailable
from runner.measure.energy import EnergyMeter
from runner.measure.vendors.counters import rapl_counters
from tests.support.fakes import FakeClock
from tests.support.words import raises_words

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
