"""The facts about this host that a fleet's driver asks for."""

import platform
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import runner
from orchestrator.backends.catalogue import LauncherName, real_backends
from orchestrator.backends.machine import host_facts, this_machine
from orchestrator.backends.probes import ThisHost
from orchestrator.fleet.host import Hardware, HostFacts, hardware_class
from orchestrator.images.local_images import LocalImages
from orchestrator.images.settings import ImageSettings
from orchestrator.images.source import runner_digest
from orchestrator.launchers.diagnosis import diagnose
from orchestrator.launchers.registry import LAUNCHERS, choose_launcher
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.engine import connect_engine
from orchestrator.system.git import own_commit
from runner.contract.cell import Backend, Purpose

_BUS_VENDORS = {"0x1002": "AMD", "0x1022": "AMD", "0x8086": "Intel"}
_BUS_KINDS = {"GPU": "drm/card*[0-9]/device", "NPU": "accel/accel[0-9]*/device"}
_BUS_NUMBERS = ("vendor", "device")
_NVIDIA_NAMES = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


def read_own_facts(requested: str = "auto", purpose: Purpose = "measure") -> HostFacts:
    """Look at this host: hardware, backends, images, versions."""
    launcher = choose_launcher(requested, lambda _: None)
    rows = diagnose(launchers=[LAUNCHERS[launcher]])
    missing = [row for row in rows if not row.runs]
    reached = {row.backend for row in rows}
    beyond = f"the launcher {launcher} cannot reach its device"
    unavailable = {
        **{backend: beyond for backend in real_backends() if backend not in reached},
        **{row.backend: row.reason for row in missing},
    }
    machine = this_machine(purpose)
    return HostFacts(
        hostname=socket.gethostname(),
        hardware=Hardware.model_validate(host_facts()),
        accelerators=_accelerators(ThisHost()),
        memory_bytes=machine.memory_bytes,
        launcher=launcher,
        unavailable=unavailable
        | {backend: reason_text(reason) for backend, reason in machine.unavailable.items()},
        remedies={row.backend: row.remedy for row in missing if row.remedy},
        images=_images(launcher),
        version=runner.__version__,
        python=platform.python_version(),
        sources=runner_digest(),
        git_commit=own_commit(),
    )


def own_class() -> str:
    """The class of this host."""
    return hardware_class(host_facts(), _accelerators(ThisHost()))


def _accelerators(host: ThisHost) -> tuple[str, ...]:
    """The accelerators: NVIDIA's GPUs by name, AMD's and Intel's by their numbers on the bus."""
    names = map(str.strip, (host.ask(_NVIDIA_NAMES) or "").splitlines())
    return tuple(sorted((*filter(None, names), *bus_accelerators())))


def bus_accelerators(folder: Path = Path("/sys/class")) -> Iterator[str]:
    """The GPUs and neural processors of AMD and Intel, e.g. `AMD GPU 0x740f`."""
    for kind, pattern in _BUS_KINDS.items():
        for device in sorted(folder.glob(pattern)):
            with suppress(OSError):
                vendor, number = ((device / name).read_text().strip() for name in _BUS_NUMBERS)
                if vendor in _BUS_VENDORS:
                    yield f"{_BUS_VENDORS[vendor]} {kind} {number}"


def _images(launcher: LauncherName) -> dict[Backend, str]:
    """Digests of the images at hand, backend by backend."""
    if not LAUNCHERS[launcher].needs_images:
        return {}
    client = connect_engine()
    try:
        statuses = LocalImages(client, ImageSettings.from_environment()).list()
    finally:
        client.close()
    return {
        backend: status.image.digest
        for status in statuses
        if status.fresh and status.image is not None
        for backend in status.backends
    }
