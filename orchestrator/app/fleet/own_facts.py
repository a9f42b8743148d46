"""The facts about this host that a fleet's driver asks for."""

import platform
import socket

import runner
from orchestrator.app.setup.doctor import diagnose
from orchestrator.backends.catalogue import LauncherName, real_backends
from orchestrator.backends.machine import ThisHost, host_facts, this_machine
from orchestrator.fleet.host import HostFacts
from orchestrator.images import ImageSettings, LocalImages
from orchestrator.launchers.registry import LAUNCHERS, choose_launcher
from orchestrator.system.engine import connect_engine
from orchestrator.system.git import own_commit
from runner.contract.cell import Backend, Purpose

_NVIDIA_NAMES = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


def read_own_facts(requested: str = "auto", purpose: Purpose = "measure") -> HostFacts:
    """Look at this host: hardware, backends, images, versions.

    Raises:
        EngineUnavailable: containers were requested and no engine answers.
        UsageError: a variable about images is wrong.
    """
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
        hardware=dict(host_facts()),
        accelerators=_accelerators(ThisHost()),
        memory_bytes=machine.memory_bytes,
        launcher=launcher,
        unavailable={**unavailable, **machine.unavailable},
        remedies={row.backend: row.remedy for row in missing if row.remedy},
        images=_images(launcher),
        version=runner.__version__,
        python=platform.python_version(),
        git_commit=own_commit(),
    )


def _accelerators(host: ThisHost) -> tuple[str, ...]:
    """The names of NVIDIA GPUs; AMD's and the rest are told apart by their backends alone."""
    names = host.ask(_NVIDIA_NAMES) or ""
    return tuple(sorted(filter(None, map(str.strip, names.splitlines()))))


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
