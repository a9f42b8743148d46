"""Driver, library, device and permission of each backend: what is there, what is missing."""

import grp
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal, Protocol

from orchestrator.backends.catalogue import HTP_NODES, LauncherName
from orchestrator.backends.machine import X86
from orchestrator.system.engine import connect
from runner.contract.cell import Backend

PATIENCE_S = 5.0


class Host(Protocol):
    """A machine that is looked at."""

    @property
    def system(self) -> str:
        """`sys.platform`."""
        ...

    @property
    def machine(self) -> str:
        """The instruction set, e.g. `x86_64`."""
        ...

    def nodes(self, pattern: str) -> list[str]:
        """The device nodes that match a glob such as `/dev/nvidia[0-9]*`."""
        ...

    def may_use(self, node: str) -> bool:
        """Whether this user may read and write it."""
        ...

    def group_of(self, node: str) -> str:
        """The group that owns it."""
        ...

    def version(self, distribution: str) -> str | None:
        """The installed version; None if it is not installed."""
        ...

    def ask(self, command: Sequence[str]) -> str | None:
        """What a program prints; None if it is missing, fails or takes longer than 5 s."""
        ...

    def engine(self) -> Mapping[str, object]:
        """What the container engine says of itself.

        Raises:
            EngineUnavailable: there is none.
        """
        ...


class ThisHost:
    """The machine that this process runs on."""

    system = sys.platform
    machine = platform.machine()

    def nodes(self, pattern: str) -> list[str]:
        """The device nodes that match a glob."""
        return sorted(map(str, Path("/").glob(pattern.lstrip("/"))))

    def may_use(self, node: str) -> bool:
        """Whether this user may read and write it."""
        return os.access(node, os.R_OK | os.W_OK)

    def group_of(self, node: str) -> str:
        """The group that owns it, by name where it has one."""
        number = Path(node).stat().st_gid
        try:
            return grp.getgrgid(number).gr_name
        except KeyError:
            return str(number)

    def version(self, distribution: str) -> str | None:
        """The installed version."""
        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            return None

    def ask(self, command: Sequence[str]) -> str | None:
        """What a program prints."""
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def engine(self) -> Mapping[str, object]:
        """What the container engine says of itself."""
        client = connect()
        try:
            return dict(client.info())
        finally:
            client.close()


What = Literal["engine", "image", "library", "driver", "device", "permission"]


@dataclass(frozen=True)
class Check:
    """One thing that a backend needs."""

    what: What
    ok: bool
    """Whether it is there."""
    found: str
    """What is there, or what is missing."""
    remedy: str | None = None
    """How to get what is missing."""
    needed: bool = True
    """Whether nothing runs without it; what is not needed is a remark."""


Probe = Callable[[Host, LauncherName], Iterator[Check]]
"""Looks at a machine for what one backend needs beside engine, image and packages."""

_NVIDIA_SMI = ("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
_OPENVINO = """
import openvino
core = openvino.Core()
print("; ".join(f"{d}: {core.get_property(d, 'FULL_DEVICE_NAME')}" for d in core.available_devices))
"""
_TOOLKIT = (
    "install the NVIDIA Container Toolkit, then `sudo nvidia-ctk runtime configure "
    "--runtime=docker` and restart the engine"
)


def _cuda(host: Host, launcher: LauncherName) -> Iterator[Check]:
    nodes, told = host.nodes("/dev/nvidia[0-9]*"), host.ask(_NVIDIA_SMI)
    if told:
        yield Check("driver", ok=True, found="; ".join(told.splitlines()))
    else:
        yield Check(
            "driver",
            ok=False,
            found="nvidia-smi finds no driver" if nodes else "there is no NVIDIA driver",
            remedy="install NVIDIA's driver; `nvidia-smi` must list the GPU",
        )
    if not nodes:
        yield Check("device", ok=False, found="no /dev/nvidia0", remedy="is a GPU plugged in?")
    if launcher == "docker":
        yield _nvidia_runtime(host)
    else:
        yield from _permission(host, nodes)
        yield from _torch_build(host, ("cu", ""), "CUDA")


def _nvidia_runtime(host: Host) -> Check:
    """GPUs reach containers by a runtime of NVIDIA's, or by CDI, which lists its devices."""
    told = host.engine()
    runtimes, devices = str(told.get("Runtimes", "")), str(told.get("DiscoveredDevices", ""))
    if "nvidia" in runtimes or "nvidia.com/gpu" in devices:
        return Check("engine", ok=True, found="the engine can hand GPUs to containers")
    return Check(
        "engine", ok=False, found="the engine cannot hand GPUs to containers", remedy=_TOOLKIT
    )


def _rocm(host: Host, launcher: LauncherName) -> Iterator[Check]:
    kfd, renderers = host.nodes("/dev/kfd"), host.nodes("/dev/dri/renderD*")
    if kfd:
        yield Check("driver", ok=True, found="/dev/kfd is there")
    else:
        remedy = "install the amdgpu driver with ROCm's kernel part"
        yield Check("driver", ok=False, found="there is no /dev/kfd", remedy=remedy)
    if not renderers:
        remedy = "is an AMD GPU plugged in?"
        yield Check("device", ok=False, found="there is no /dev/dri/renderD*", remedy=remedy)
    if launcher == "process":
        yield from _permission(host, [*kfd, *renderers])
        yield from _torch_build(host, ("rocm",), "ROCm")


def _mps(host: Host, launcher: LauncherName) -> Iterator[Check]:
    del launcher
    if host.system != "darwin":
        return  # the process launcher says so
    if host.machine == "arm64":
        yield Check("device", ok=True, found="Apple silicon")
    else:
        found = f"Metal computes for torch on Apple silicon alone, and this is {host.machine}"
        yield Check("device", ok=False, found=found, remedy="run it on a Mac with Apple silicon")


def _openvino(host: Host, launcher: LauncherName) -> Iterator[Check]:
    nodes = [*host.nodes("/dev/dri/renderD*"), *host.nodes("/dev/accel/accel*")]
    if launcher == "process":
        told = host.ask((sys.executable, "-c", _OPENVINO))
        if told:
            yield Check("device", ok=True, found=told)
        elif host.version("openvino"):
            remedy = 'see `python -c "import openvino; print(openvino.Core().available_devices)"`'
            yield Check("device", ok=False, found="OpenVINO lists no devices", remedy=remedy)
        yield from _permission(host, nodes, needed=False)  # the CPU needs none of them
    else:
        more = f", and what OpenVINO knows of {', '.join(nodes)}" if nodes else ""
        yield Check("device", ok=True, found=f"the CPU{more}")


def _qnn(host: Host, launcher: LauncherName) -> Iterator[Check]:
    if host.machine in X86:
        found = "the HTP simulator, which tells what is correct and never what is fast"
        yield Check("device", ok=True, found=found)
    else:
        nodes = [node for name in HTP_NODES for node in host.nodes(name)]
        remedy = "a Snapdragon with Qualcomm's FastRPC driver has /dev/fastrpc-cdsp"
        found = ", ".join(nodes) or "there is no /dev/fastrpc-cdsp"
        yield Check("device", bool(nodes), found, None if nodes else remedy)
        if launcher == "process":
            # One is enough, and those for signed code are often root's alone.
            yield from _permission(host, nodes, needed=not any(map(host.may_use, nodes)))


def _permission(host: Host, nodes: list[str], *, needed: bool = True) -> Iterator[Check]:
    for node in nodes:
        if not host.may_use(node):
            group = host.group_of(node)
            yield Check(
                "permission",
                ok=False,
                found=f"this user may not use {node}",
                remedy=f"`sudo usermod --append --groups {group} $USER`, then log in again",
                needed=needed,
            )


def _torch_build(host: Host, builds: Collection[str], name: str) -> Iterator[Check]:
    """Whether the torch that is installed is a build for this device, by its local version.

    On Linux PyPI's has none, and is the one for CUDA.
    """
    version = host.version("torch")
    if version is None:
        return  # the process launcher says so
    if version.partition("+")[2].rstrip("0123456789.") in builds:
        yield Check("library", ok=True, found=f"torch {version}")
    else:
        found = f"torch {version} is no build for {name}"
        yield Check("library", ok=False, found=found, remedy=f"install torch's {name} build")


PROBES: Mapping[Backend, Probe] = {
    "cuda": _cuda,
    "rocm": _rocm,
    "mps": _mps,
    "openvino": _openvino,
    "qnn": _qnn,
}
"""Backends without one need nothing that a machine could lack."""
