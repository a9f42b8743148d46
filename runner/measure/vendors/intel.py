"""Energy counters of discrete Intel GPUs, as the drivers xe and i915 list them in hwmon."""

from pathlib import Path

from runner.contract.errors import Unavailable
from runner.measure.vendors.counter import Counter

_SYS = Path("/sys")
_INTEL, _DISPLAY = "0x8086", "0x03"
"""Intel's vendor id on PCI, and the class of display controllers."""
_DRIVERS = ("xe", "i915")
"""Names of the monitors of a whole device; those of its tiles are `i915_gt0` and so on."""
_CARD, _PACKAGE = "energy1_input", "energy2_input"
"""Files of the card's and of the package's energy, microjoules; i915 has the first alone. Linux,
Documentation/ABI/testing/sysfs-driver-intel-xe-hwmon and sysfs-driver-intel-i915-hwmon."""
_JOULES_PER_UJ = 1e-6
_PERIOD_S = 0.1
"""Intel documents none; this is the slowest of the counters whose period is known."""
_REGISTER_J = 2**32 / 2**14
"""Joules in which the register behind it wraps, in units of 2^-14 J. The driver adds up one wrap
between two readings, so it is read again within that."""


def intel_gpu_addresses(sys: Path = _SYS) -> list[str]:
    """PCI addresses of Intel's GPUs on cards: those in a processor's package lie on bus 0."""
    devices = (sys / "bus" / "pci" / "devices").glob("*")
    return sorted(
        path.name
        for path in devices
        if path.name.split(":")[1:2] != ["00"]
        and _read(path / "vendor") == _INTEL
        and _read(path / "class").startswith(_DISPLAY)
    )


def intel_gpu_counters(address: str | None, sys: Path = _SYS) -> list[Counter]:
    """The counter of the card at a PCI address such as `0000:03:00.0`, or of the only card."""
    monitors = _monitors(sys)
    if address is None and len(monitors) == 1:
        (address,) = monitors
    if address is None or address not in monitors:
        seen = ", ".join(sorted(monitors)) or "none"
        raise Unavailable(
            f"no counter of the discrete Intel GPU {address or '?'}: hwmon has {seen}"
        )
    files = [(_CARD, "board"), (_PACKAGE, "gpu package")]
    for name, part in files:
        path = monitors[address] / name
        if path.exists():
            return [_counter(path, part)]
    raise Unavailable(f"{monitors[address]} shows no energy of the GPU")


def _monitors(sys: Path) -> dict[str, Path]:
    """Folders of the devices' monitors by PCI address."""
    folders = (sys / "class" / "hwmon").glob("hwmon*")
    return {
        (path / "device").resolve().name: path
        for path in folders
        if _read(path / "name") in _DRIVERS
    }


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _counter(path: Path, part: str) -> Counter:
    def read() -> float:
        return int(path.read_text()) * _JOULES_PER_UJ

    try:
        read()
    except OSError as error:
        raise Unavailable(f"{error.filename}: {error.strerror}") from error
    return Counter(f"hwmon energy of the Intel GPU, {part}", _PERIOD_S, read, _REGISTER_J, part)
