"""RAPL energy counters of processor packages and their memory, as Linux lists them in powercap."""

from pathlib import Path

from runner.contract.errors import Unavailable
from runner.measure.vendors.counter import Counter

_POWERCAP = Path("/sys/class/powercap")
_JOULES_PER_UJ = 1e-6
_PERIOD_S = 0.001
"""Intel SDM volume 3B, "RAPL Interfaces": updated about every millisecond; so are AMD's
(Linux, Documentation/hwmon/amd_energy.rst)."""


def rapl_counters(powercap: Path = _POWERCAP) -> list[Counter]:
    """A counter for each package and for each package's memory.

    Cores and uncore are parts of the package; `psys` holds the package, so none of them is added.
    """
    packages = [zone for zone in _zones(powercap, "intel-rapl:*") if _is_package(zone)]
    if not packages:
        raise Unavailable(f"{powercap} shows no RAPL packages; containers and guests see none")
    return [counter for package in packages for counter in _counters(package)]


def _counters(package: Path) -> list[Counter]:
    name = _name(package)
    memories = [zone for zone in _zones(package, f"{package.name}:*") if _name(zone) == "dram"]
    return [
        _counter(package, f"RAPL {name}", "package"),
        *(_counter(memory, f"RAPL {name} dram", "dram") for memory in memories),
    ]


def _counter(zone: Path, name: str, part: str) -> Counter:
    path = zone / "energy_uj"

    def read() -> float:
        return int(path.read_text()) * _JOULES_PER_UJ

    try:
        read()
        wraps_at_j = int((zone / "max_energy_range_uj").read_text()) * _JOULES_PER_UJ
    except OSError as error:
        raise Unavailable(
            f"{error.filename}: {error.strerror}; only root may read RAPL unless the mode allows it"
        ) from error
    return Counter(name, _PERIOD_S, read, wraps_at_j, part)


def _zones(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def _is_package(zone: Path) -> bool:
    # /sys/class/powercap lists subzones such as intel-rapl:0:0 beside their packages.
    return zone.name.count(":") == 1 and _name(zone).startswith("package")


def _name(zone: Path) -> str:
    return (zone / "name").read_text().strip()
