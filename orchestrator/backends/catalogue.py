"""What each backend needs of the host: image, devices, locks, CI runner. Pure data, one table."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from runner.contract.cell import Backend

SupportClass = Literal[1, 2, 3]
LauncherName = Literal["docker", "process"]
NodeGroups = Callable[[str], frozenset[int] | None]
"""The groups that own a device node, or None where there is no such node."""

HTP_NODES = (
    "/dev/fastrpc-cdsp",
    "/dev/fastrpc-cdsp-secure",
    "/dev/fastrpc-cdsp1",
    "/dev/fastrpc-cdsp1-secure",
    "/dev/adsprpc-smd",
    "/dev/adsprpc-smd-secure",
)
"""What leads to Qualcomm's HTP, which is the compute DSP's: Linux has a FastRPC node for each DSP,
one more for signed code; Qualcomm's kernels for Android have one for all DSPs."""


@dataclass(frozen=True)
class BackendDevice:
    """What one backend needs of the host."""

    image: str | None
    """The image's name without `accelmatrix-`; None where no container can reach the device."""
    locks: frozenset[str]
    """Names of the physical devices it occupies. Backends that share one share its name."""
    runner_labels: tuple[str, ...]
    """Labels of the GitHub Actions runners that have the device."""
    support_class: SupportClass | None = None
    """1 measured in CI, 2 measured by hand, 3 built but never measured; None: not built yet."""
    launchers: tuple[LauncherName, ...] = ("docker", "process")
    """The launchers that can reach the device."""
    nvidia: bool = False
    """Whether containers ask the engine for NVIDIA GPUs: for all, as `docker run --gpus all` does,
    or for the one that the user chose, which is then the only one that they see."""
    nodes: tuple[str, ...] = ()
    """Device nodes that a container gets."""
    optional_nodes: tuple[str, ...] = ()
    """Device nodes that a container gets where the host has them."""


DEVICES: Mapping[Backend, BackendDevice] = {
    "cpu": BackendDevice(
        image="cpu",
        locks=frozenset({"cpu"}),
        runner_labels=("self-hosted", "linux", "cpu"),
        support_class=1,
    ),
    "cuda": BackendDevice(
        image="cuda",
        locks=frozenset({"nvidia"}),
        runner_labels=("self-hosted", "linux", "cuda"),
        support_class=3,
        nvidia=True,
    ),
    "rocm": BackendDevice(
        image="rocm",
        locks=frozenset({"amd"}),
        runner_labels=("self-hosted", "linux", "rocm"),
        support_class=3,
        nodes=("/dev/kfd", "/dev/dri"),
    ),
    "mps": BackendDevice(
        image=None,
        locks=frozenset({"apple"}),
        runner_labels=("self-hosted", "macOS", "mps"),
        support_class=3,
        launchers=("process",),
    ),
    "openvino": BackendDevice(
        image="openvino",
        locks=frozenset({"cpu", "intel"}),
        runner_labels=("self-hosted", "linux", "openvino"),
        support_class=1,
        optional_nodes=("/dev/accel", "/dev/dri"),
    ),
    "qnn": BackendDevice(
        image="qnn",
        locks=frozenset({"qualcomm"}),
        runner_labels=("self-hosted", "linux", "qnn"),
        support_class=3,
        optional_nodes=(
            *HTP_NODES,
            "/dev/fastrpc-adsp",
            "/dev/fastrpc-adsp-secure",
            "/dev/accel",
            "/dev/dri",
        ),
    ),
    "webnn": BackendDevice(
        image="browser",
        locks=frozenset({"cpu", "nvidia", "amd", "intel"}),
        runner_labels=("self-hosted", "linux", "browser"),
        optional_nodes=("/dev/dri",),
    ),
    "webgpu": BackendDevice(
        image="browser",
        locks=frozenset({"nvidia", "amd", "intel"}),
        runner_labels=("self-hosted", "linux", "browser"),
        optional_nodes=("/dev/dri",),
    ),
    "wasm": BackendDevice(
        image="browser",
        locks=frozenset({"cpu"}),
        runner_labels=("self-hosted", "linux", "browser"),
    ),
    "fake": BackendDevice(
        image="cpu",
        locks=frozenset({"fake"}),
        runner_labels=("self-hosted", "linux", "cpu"),
    ),
}


def image_names() -> Mapping[str, tuple[Backend, ...]]:
    """Every image's name, with the real backends that execute in it."""
    names: dict[str, tuple[Backend, ...]] = {}
    for backend in get_args(Backend):
        image = DEVICES[backend].image
        if image and backend != "fake":
            names[image] = (*names.get(image, ()), backend)
    return names


def device_options(
    device: BackendDevice, node_groups: NodeGroups | None = None, chosen: str | None = None
) -> dict[str, Any]:
    """The part of a container's host configuration that lets it reach the device.

    The keys are arguments of the docker SDK's `create_host_config`. Groups are numbers, since the
    image may name them differently than the host. `chosen` is an NVIDIA GPU's index or UUID.
    """
    find = node_groups or host_node_groups
    optional = [node for node in device.optional_nodes if find(node) is not None]
    nodes = [*device.nodes, *optional]
    options: dict[str, Any] = {}
    if device.nvidia:
        which = {"Count": -1} if chosen is None else {"DeviceIDs": [chosen]}
        options["device_requests"] = [{**which, "Capabilities": [["gpu"]]}]
    if nodes:
        options["devices"] = [f"{node}:{node}:rwm" for node in nodes]
    groups = frozenset[int]().union(*(find(node) or () for node in nodes))
    if groups:
        options["group_add"] = [str(group) for group in sorted(groups)]
    return options


def host_node_groups(node: str) -> frozenset[int] | None:
    """The groups, root apart, that own this machine's device node or the nodes in that folder."""
    path = Path(node)
    try:
        paths = [path, *path.iterdir()] if path.is_dir() else [path]
        return frozenset(os.stat(each).st_gid for each in paths) - {0}  # noqa: PTH116
    except OSError:
        return None
