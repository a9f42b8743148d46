"""Energy counters of processors and of discrete Intel GPUs: files of Linux, a library of Apple's.

Where there is none, or it may not be read, the functions raise `Unavailable`.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from runner.contract.errors import Unavailable
from runner.contract.host import SYS
from runner.measure.vendors.base import Counter

_POWERCAP = SYS / "class" / "powercap"
_RAPL_PERIOD_S = 0.001
"""Intel SDM volume 3B, "RAPL Interfaces": updated about every millisecond; so are AMD's
(Linux, Documentation/hwmon/amd_energy.rst)."""
_UNKNOWN_PERIOD_S = 0.1
"""Intel's cards and Apple document none; this is the slowest of those that are known."""
_INTEL, _DISPLAY = "0x8086", "0x03"
"""Intel's vendor id on PCI, and the class of display controllers."""
_DRIVERS = ("xe", "i915")
"""Names of the monitors of a whole device; those of its tiles are `i915_gt0` and so on."""
_FILES = (("energy1_input", "board"), ("energy2_input", "gpu package"))
"""Files of the card's and of the package's energy, microjoules; i915 has the first alone. Linux,
Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon and sysfs-driver-intel-i915-hwmon."""
_REGISTER_J = 2**32 / 2**14
"""Joules in which the register behind it wraps, in units of 2^-14 J. The driver adds up one wrap
between two readings, so it is read again within that."""


def rapl_counters(powercap: Path = _POWERCAP) -> list[Counter]:
    """A counter for each package and its memory; other parts lie inside, `psys` around them."""
    # Subzones such as intel-rapl:0:0 are listed beside their packages.
    top = [zone for zone in sorted(powercap.glob("intel-rapl:*")) if zone.name.count(":") == 1]
    packages = [zone for zone in top if _read(zone / "name").startswith("package")]
    if not packages:
        raise Unavailable(f"{powercap} shows no RAPL packages; containers and guests see none")
    return [counter for package in packages for counter in _of_package(package)]


def _of_package(package: Path) -> Iterator[Counter]:
    name = f"RAPL {_read(package / 'name')}"
    yield _rapl_counter(package, name, "package")
    for zone in sorted(package.glob(f"{package.name}:*")):
        if _read(zone / "name") == "dram":
            yield _rapl_counter(zone, f"{name} dram", "dram")


def _rapl_counter(zone: Path, name: str, part: str) -> Counter:
    read = partial(_read_joules, zone / "energy_uj")
    try:
        read()
        wraps_at_j = _read_joules(zone / "max_energy_range_uj")
    except OSError as error:
        raise Unavailable(
            f"{error.filename}: {error.strerror}; only root may read RAPL unless the mode allows it"
        ) from error
    return Counter(name, _RAPL_PERIOD_S, read, wraps_at_j, part)


def intel_gpu_addresses(sys: Path = SYS) -> list[str]:
    """PCI addresses of Intel's GPUs on cards: those in a processor's package lie on bus 0."""
    return sorted(
        path.name
        for path in (sys / "bus" / "pci" / "devices").glob("*")
        if path.name.split(":")[1:2] != ["00"]
        and _read(path / "vendor") == _INTEL
        and _read(path / "class").startswith(_DISPLAY)
    )


def intel_gpu_counters(address: str | None, sys: Path = SYS) -> list[Counter]:
    """The counter of the card at a PCI address such as `0000:03:00.0`, or of the only card."""
    monitors = {
        (path / "device").resolve().name: path
        for path in (sys / "class" / "hwmon").glob("hwmon*")
        if _read(path / "name") in _DRIVERS
    }
    if address is None and len(monitors) == 1:
        (address,) = monitors
    if address is None or address not in monitors:
        seen = ", ".join(sorted(monitors)) or "none"
        raise Unavailable(
            f"no counter of the discrete Intel GPU {address or '?'}: hwmon has {seen}"
        )
    for file, part in _FILES:
        path = monitors[address] / file
        if path.exists():
            read = partial(_read_joules, path)
            try:
                read()
            except OSError as error:
                raise Unavailable(f"{error.filename}: {error.strerror}") from error
            name = f"hwmon energy of the Intel GPU, {part}"
            return [Counter(name, _UNKNOWN_PERIOD_S, read, _REGISTER_J, part)]
    raise Unavailable(f"{monitors[address]} shows no energy of the GPU")


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _read_joules(path: Path) -> float:
    return int(path.read_text()) * 1e-6


def apple_cpu_counters(monitor: Any = None) -> list[Counter]:
    """Counters of the CPU and, where the chip has one, of the memory."""
    return _apple_counters(monitor, ("cpu_total", "dram"))


def apple_gpu_counters(monitor: Any = None) -> list[Counter]:
    """The counters of the GPU, its SRAM and the memory; otherwise like `apple_cpu_counters`."""
    return _apple_counters(monitor, ("gpu", "gpu_sram", "dram"))


def _apple_counters(given: Any, parts: Sequence[str]) -> list[Counter]:
    try:
        monitor = given or import_module("zeus_apple_silicon").AppleEnergyMonitor()
    except ImportError as error:
        raise Unavailable("the package zeus-apple-silicon is not installed") from error

    def read(part: str) -> float:
        return float(getattr(monitor.get_cumulative_energy(), f"{part}_mj") * 1e-3)

    energies = monitor.get_cumulative_energy()
    shown = [part for part in parts if getattr(energies, f"{part}_mj") is not None]
    if parts[0] not in shown:
        raise Unavailable(f"this chip shows no energy of its {parts[0]}")
    return [
        Counter(
            f"Apple {part}",
            _UNKNOWN_PERIOD_S,
            partial(read, part),
            part=part.removesuffix("_total"),
        )
        for part in shown
    ]
