"""Energy of discrete Intel GPUs, from files under another root than /sys."""

from pathlib import Path

import pytest

from runner.contract.errors import Unavailable
from runner.measure.vendors.counters import intel_gpu_addresses, intel_gpu_counters
from tests.support.words import raises_words

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
