"""Probes: driver, library, device and permission of each backend, looked for on a machine."""

import grp
import os
import platform
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from runner.contract.processes import python_environment

X86_INSTRUCTION_SETS = frozenset({"x86_64", "AMD64"})

HTP_NODES = (
    "/dev/fastrpc-cdsp",
    "/dev/fastrpc-cdsp-secure",
    "/dev/fastrpc-cdsp1",
    "/dev/fastrpc-cdsp1-secure",
    "/dev/adsprpc-smd",
    "/dev/adsprpc-smd-secure",
)
"""Nodes of Qualcomm's HTP, which is the compute DSP's: Linux has a FastRPC node for each DSP, one
more for signed code; Qualcomm's kernels for Android have one for all DSPs."""

PATIENCE_S = 5.0
GPU_NODES = ("/dev/dri/renderD*", "/dev/nvidia[0-9]*", "/dev/dxg", "/dev/mali[0-9]*")
"""Nodes of GPUs on Linux: the kernel's own interface, NVIDIA's, that of Windows below, Arm's."""


class ThisHost:
    """The machine that this process runs on, as probes look at it."""

    system = sys.platform
    machine = platform.machine()
    """The instruction set, e.g. `x86_64`."""

    def nodes(self, pattern: str) -> list[str]:
        """The device nodes that match a glob such as `/dev/nvidia[0-9]*`."""
        return sorted(map(str, Path("/").glob(pattern.lstrip("/"))))

    def may_use(self, node: str) -> bool:
        return os.access(node, os.R_OK | os.W_OK)

    def group_of(self, node: str) -> str:
        number = Path(node).stat().st_gid
        try:
            return grp.getgrgid(number).gr_name
        except KeyError:
            return str(number)

    def version(self, distribution: str) -> str | None:
        from importlib import metadata

        try:
            return metadata.version(distribution)
        except metadata.PackageNotFoundError:
            return None

    def ask(self, command: Sequence[str]) -> str | None:
        """A program's stdout; None if it is missing, fails or takes longer than 5 s."""
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
                env=python_environment(),
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    def engine(self) -> Mapping[str, object]:
        """The container engine's description of itself."""
        # The docker SDK takes 0.2 s to import.
        from orchestrator.system.engine import connect_engine

        client = connect_engine()
        try:
            return dict(client.info())
        finally:
            client.close()


CheckKind = Literal["engine", "image", "user", "library", "driver", "device", "permission"]


@dataclass(frozen=True)
class Need:
    """One thing that a backend needs."""

    kind: CheckKind
    ok: bool
    message: str
    remedy: str | None = None
    needed: bool = True
    """True if nothing runs without it; else its absence is a remark."""


class Probe(Protocol):
    """Looks on a machine for what one backend needs beside engine, image and packages."""

    def __call__(self, host: ThisHost, *, in_container: bool) -> Iterator[Need]:
        """The checks of a backend whose jobs execute in containers, or as local processes."""
        ...


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


def probe_cuda(host: ThisHost, *, in_container: bool) -> Iterator[Need]:
    nodes, gpus = host.nodes("/dev/nvidia[0-9]*"), host.ask(_NVIDIA_SMI)
    if gpus:
        yield Need("driver", ok=True, message="; ".join(gpus.splitlines()))
    else:
        yield Need(
            "driver",
            ok=False,
            message="nvidia-smi finds no driver" if nodes else "there is no NVIDIA driver",
            remedy="install NVIDIA's driver; `nvidia-smi` must list the GPU",
        )
    if not nodes:
        yield Need("device", ok=False, message="no /dev/nvidia0", remedy="is a GPU plugged in?")
    if in_container:
        yield _nvidia_runtime(host)
    else:
        yield from _permission(host, nodes)
        yield from _torch_build(host, ("cu", ""), "CUDA")


def _nvidia_runtime(host: ThisHost) -> Need:
    """GPUs reach containers by a runtime of NVIDIA's, or by CDI, which lists its devices."""
    engine = host.engine()
    runtimes, devices = str(engine.get("Runtimes", "")), str(engine.get("DiscoveredDevices", ""))
    if "nvidia" in runtimes or "nvidia.com/gpu" in devices:
        return Need("engine", ok=True, message="the engine can hand GPUs to containers")
    return Need(
        "engine", ok=False, message="the engine cannot hand GPUs to containers", remedy=_TOOLKIT
    )


def probe_rocm(host: ThisHost, *, in_container: bool) -> Iterator[Need]:
    kfd, renderers = host.nodes("/dev/kfd"), host.nodes("/dev/dri/renderD*")
    if kfd:
        yield Need("driver", ok=True, message="/dev/kfd is there")
    else:
        remedy = "install the amdgpu driver with ROCm's kernel part"
        yield Need("driver", ok=False, message="there is no /dev/kfd", remedy=remedy)
    if not renderers:
        remedy = "is an AMD GPU plugged in?"
        yield Need("device", ok=False, message="there is no /dev/dri/renderD*", remedy=remedy)
    if not in_container:
        yield from _permission(host, [*kfd, *renderers])
        yield from _torch_build(host, ("rocm",), "ROCm")


def probe_mps(host: ThisHost, *, in_container: bool) -> Iterator[Need]:
    """Apple silicon; that the system is macOS, the process launcher checks."""
    del in_container
    if host.system != "darwin":
        return
    if host.machine == "arm64":
        yield Need("device", ok=True, message="Apple silicon")
    else:
        message = f"Metal computes for torch on Apple silicon alone, and this is {host.machine}"
        yield Need("device", ok=False, message=message, remedy="run it on a Mac with Apple silicon")


def probe_openvino(host: ThisHost, *, in_container: bool) -> Iterator[Need]:
    """Intel's and AMD's CPUs, and the GPU and NPU that OpenVINO finds; it needs none of these."""
    nodes = [*host.nodes("/dev/dri/renderD*"), *host.nodes("/dev/accel/accel*")]
    if in_container:
        more = f", and what OpenVINO knows of {', '.join(nodes)}" if nodes else ""
        yield Need("device", ok=True, message=f"the CPU{more}")
        return
    if devices := host.ask((sys.executable, "-P", "-c", _OPENVINO)):
        yield Need("device", ok=True, message=devices)
    elif host.version("openvino"):
        remedy = 'see `python -c "import openvino; print(openvino.Core().available_devices)"`'
        yield Need("device", ok=False, message="OpenVINO lists no devices", remedy=remedy)
    yield from _permission(host, nodes, needed=False)


def probe_qnn(host: ThisHost, *, in_container: bool) -> Iterator[Need]:
    if host.machine in X86_INSTRUCTION_SETS:
        message = "the HTP simulator, which tells what is correct and never what is fast"
        yield Need("device", ok=True, message=message)
        return
    nodes = [node for name in HTP_NODES for node in host.nodes(name)]
    remedy = "a Snapdragon with Qualcomm's FastRPC driver has /dev/fastrpc-cdsp"
    message = ", ".join(nodes) or "there is no /dev/fastrpc-cdsp"
    yield Need("device", bool(nodes), message, None if nodes else remedy)
    if not in_container:
        # One is enough, and those for signed code are often root's alone.
        yield from _permission(host, nodes, needed=not any(map(host.may_use, nodes)))


def probe_webgpu(host: ThisHost, *, in_container: bool) -> Iterator[Need]:
    """A GPU, or the browser's software adapter; whether the browser reaches it, it alone tells."""
    del in_container
    nodes = [node for name in GPU_NODES for node in host.nodes(name)]
    message = (
        f"{', '.join(nodes)}: `doctor --browsers` tries it"
        if nodes
        else (
            "the software adapter, which tells what is correct and never what is fast"
            if host.system == "linux"
            else "what the browser finds"
        )
    )
    yield Need("device", ok=True, message=message)


def _permission(host: ThisHost, nodes: list[str], *, needed: bool = True) -> Iterator[Need]:
    for node in nodes:
        if not host.may_use(node):
            group = host.group_of(node)
            yield Need(
                "permission",
                ok=False,
                message=f"this user may not use {node}",
                remedy=f"`sudo usermod --append --groups {group} $USER`, then log in again",
                needed=needed,
            )


def _torch_build(host: ThisHost, builds: Collection[str], name: str) -> Iterator[Need]:
    """Check the build of an installed torch by its local version, which PyPI's for CUDA lacks."""
    version = host.version("torch")
    if version is None:
        return
    if version.partition("+")[2].rstrip("0123456789.") in builds:
        yield Need("library", ok=True, message=f"torch {version}")
    else:
        message = f"torch {version} is no build for {name}"
        yield Need("library", ok=False, message=message, remedy=f"install torch's {name} build")
