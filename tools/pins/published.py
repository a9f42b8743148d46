"""Hashes that the package index publishes, as uv reads them, for the machines that we support."""

import subprocess
import tempfile
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

from packaging.markers import Marker
from packaging.utils import parse_wheel_filename

PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = (("linux", "x86_64"), ("linux", "aarch64"), ("darwin", "x86_64"), ("darwin", "arm64"))
"""Systems and machines that we support; macOS for the process launcher alone."""
_PLATFORMS = ("any", "linux", "manylinux", "macosx")
_MACHINES = ("any", "x86_64", "aarch64", "arm64", "universal2")


class LockError(Exception):
    """The index does not serve what a file asks for."""


@dataclass(frozen=True)
class Pin:
    """One version of a package, and its wheels for the machines that we support."""

    name: str
    """The package."""
    version: str
    """Its version."""
    marker: str
    """The environments that need it; empty for all."""
    wheels: Mapping[str, str]
    """`sha256:…` by the wheel's file name."""

    def lines(self) -> str:
        """The pin in the words of a requirements file."""
        condition = f"; {self.marker}" if self.marker else ""
        hashes = sorted(set(self.wheels.values()))
        return " \\\n    ".join(
            [f"{self.name}=={self.version}{condition}", *(f"--hash={item}" for item in hashes)]
        )


def published_pins(
    uv: str, requirements: Sequence[str], constraints: Sequence[str], *, complete: bool
) -> list[Pin]:
    """The pins for these requirements, with the hashes that the index publishes.

    `complete` requirements are taken as they are; of others the dependencies are added.

    Raises:
        LockError: uv finds no versions, or a package has no wheel for us.
    """
    packages = _lock(uv, requirements, constraints, complete=complete)["packages"]
    pins = [_pin(package) for package in packages if _is_needed(package.get("marker", ""))]
    for pin in pins:
        if not pin.wheels:
            raise LockError(f"{pin.name}=={pin.version}: the index has no wheel for our machines")
    return pins


def _lock(
    uv: str, requirements: Iterable[str], constraints: Iterable[str], *, complete: bool
) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        source, limits, lock = (
            Path(folder) / name for name in ("in.txt", "limits.txt", "pylock.toml")
        )
        source.write_text("".join(f"{line}\n" for line in requirements))
        limits.write_text("".join(f"{line}\n" for line in constraints))
        command = [uv, "pip", "compile", "--no-config", "--universal", "--quiet"]
        command += ["--python-version", PYTHONS[0], "--format", "pylock.toml", "--no-header"]
        command += ["--no-deps"] if complete else []
        command += ["--constraints", str(limits), "--output-file", str(lock), str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LockError(done.stderr.strip())
        return tomllib.loads(lock.read_text("utf-8"))


def _pin(package: Mapping[str, Any]) -> Pin:
    files = {
        wheel["url"].rpartition("/")[2]: f"sha256:{wheel['hashes']['sha256']}"
        for wheel in package.get("wheels", ())
    }
    return Pin(
        name=package["name"],
        version=package["version"],
        marker=package.get("marker", "").replace("'", '"'),
        wheels={name: digest for name, digest in files.items() if fits(name)},
    )


def fits(wheel: str) -> bool:
    """True if one of our machines can install this wheel."""
    *_, tags = parse_wheel_filename(wheel.replace("%2B", "+"))
    return any(
        _fits_python(tag.interpreter, tag.abi) and _fits_machine(tag.platform) for tag in tags
    )


def _fits_python(interpreter: str, abi: str) -> bool:
    ours = [version.replace(".", "") for version in PYTHONS]
    if interpreter.startswith("py"):
        return abi == "none" and interpreter in {"py3", *(f"py{version}" for version in ours)}
    if not interpreter.startswith("cp3"):
        return False
    if abi == "abi3":
        return int(interpreter[2:]) <= int(ours[-1])
    return interpreter[2:] in ours and abi in {interpreter, "none"}


def _fits_machine(platform: str) -> bool:
    return platform.startswith(_PLATFORMS) and platform.endswith(_MACHINES)


def _is_needed(marker: str) -> bool:
    return not marker or any(Marker(marker).evaluate(machine) for machine in _machines())


def _machines() -> Iterator[dict[str, str]]:
    for version, (system, machine) in product(PYTHONS, SYSTEMS):
        yield {
            "python_version": version,
            "python_full_version": f"{version}.0",
            "sys_platform": system,
            "platform_system": {"linux": "Linux", "darwin": "Darwin"}[system],
            "platform_machine": machine,
            "os_name": "posix",
            "implementation_name": "cpython",
            "platform_python_implementation": "CPython",
        }
