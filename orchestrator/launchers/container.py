"""A job's container as pure data: its options, its labels, and those the engine ignored."""

import hashlib
import os
import re
import socket
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import psutil

from orchestrator.backends.catalogue import CATALOGUE, DeviceRequest
from orchestrator.backends.machine import default_memory_bytes
from orchestrator.launchers.base import OUT, Task
from orchestrator.launchers.environment import cpuset_of_container, inherited_variables
from orchestrator.launchers.job_user import JobUser, let_read, require_readable
from orchestrator.system.files import translate_os_errors
from orchestrator.system.weights import repository_of
from runner.contract.graph import FAILED_SUFFIX
from runner.contract.job import DEVICE_VARIABLE, chosen_device

RUN_LABEL = "org.accelmatrix.run_id"
JOB_LABEL = "org.accelmatrix.job_id"
DEVICES_LABEL = "org.accelmatrix.devices"
HOST_LABEL = "org.accelmatrix.host"
OWNER_LABEL = "org.accelmatrix.owner"

TARGETS: Mapping[str, str] = {
    "--job": "/in/job.json",
    OUT: "/out",
    "--references": "/references",
    "--graphs": "/graphs",
    "--weights": "/weights",
}
"""Paths inside the container, by the runner's option."""

# `exec`: torch.compile loads from there what it has built.
TMP_OPTIONS = "rw,exec,nosuid,nodev,size=1g,mode=1777"
MACHINE_ID = Path("/etc/machine-id")

NodeGroups = Callable[[str], frozenset[int] | None]
"""The groups that own a device node, or None where there is no such node."""


@dataclass(frozen=True)
class EngineFacts:
    """The engine's abilities that limits depend on."""

    memory_bytes: int
    limits_swap: bool
    """True if its kernel can hold a container's swap to a limit."""
    cpus: int
    limits_cpus: bool
    """True if it can hold a container to some of them."""
    user: JobUser


def command(task: Task) -> list[str]:
    words = []
    for option, path in task.staged().items():
        inside = path.resolve().relative_to(_shown(option, path))
        words += [option, str(PurePosixPath(TARGETS[option]) / inside)]
    return [*words, "--die-with-parent"] if task.job.takes_turns else words


def container_environment(task: Task, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The variables that the user named, and the chosen device if the engine shows others too."""
    inherited = inherited_variables(task.job, ours)
    if CATALOGUE[task.backend].device.nvidia or not ours.get(DEVICE_VARIABLE):
        return inherited
    return {**inherited, DEVICE_VARIABLE: ours[DEVICE_VARIABLE]}


def host_options(task: Task, engine: EngineFacts) -> dict[str, Any]:
    limits = task.job.limits
    memory = limits.memory_bytes or default_memory_bytes(engine.memory_bytes)
    options: dict[str, Any] = {
        "network_mode": "none",
        "read_only": True,
        "cap_drop": ["ALL"],
        "security_opt": ["no-new-privileges"],
        # As PID 1 the runner would shrug off its own SIGKILL and SIGABRT.
        "init": True,
        "mem_limit": memory,
        "pids_limit": limits.pids,
        "tmpfs": {"/tmp": TMP_OPTIONS},  # noqa: S108 - inside the container
        "mounts": _mounts(task),
        "log_config": {"Type": "json-file", "Config": {"max-size": "10m", "max-file": "1"}},
    }
    if engine.limits_swap:
        options["memswap_limit"] = memory
    if engine.user.userns_mode is not None:
        options["userns_mode"] = engine.user.userns_mode
    if engine.limits_cpus and (cpuset := cpuset_of_container(task.job, engine.cpus)):
        options["cpuset_cpus"] = cpuset
    request, chosen = CATALOGUE[task.backend].device, chosen_device(task.backend)
    return options | device_options(request, chosen=chosen)


def device_options(
    request: DeviceRequest, node_groups: NodeGroups | None = None, chosen: str | None = None
) -> dict[str, Any]:
    """Arguments of `create_host_config` that let a container reach the devices.

    Groups are numbers, since the image may name them differently than the host. An index or a UUID
    chooses one NVIDIA GPU.
    """
    groups_of = node_groups or host_node_groups
    optional = (node for node in request.optional_nodes if groups_of(node) is not None)
    nodes = [*request.nodes, *optional]
    options: dict[str, Any] = {}
    if request.nvidia:
        gpus = {"Count": -1} if chosen is None else {"DeviceIDs": [chosen]}
        options["device_requests"] = [{**gpus, "Capabilities": [["gpu"]]}]
    if nodes:
        options["devices"] = [f"{node}:{node}:rwm" for node in nodes]
    if groups := frozenset[int]().union(*(groups_of(node) or () for node in nodes)):
        options["group_add"] = [str(group) for group in sorted(groups)]
    return options


def host_node_groups(node: str) -> frozenset[int] | None:
    """The groups, root apart, that own this machine's device node or the nodes in that folder."""
    path = Path(node)
    try:
        paths = [path, *path.iterdir()] if path.is_dir() else [path]
        return frozenset(os.stat(path).st_gid for path in paths) - {0}  # noqa: PTH116
    except OSError:
        return None


def labels(task: Task, host: str) -> dict[str, str]:
    return {
        RUN_LABEL: task.job.run_id,
        JOB_LABEL: task.job.id,
        DEVICES_LABEL: ",".join(sorted(CATALOGUE[task.backend].locks)),
        HOST_LABEL: host,
        OWNER_LABEL: owner_id(os.getpid()),
    }


def occupies(container_labels: Mapping[str, str], devices: frozenset[str]) -> bool:
    return not devices.isdisjoint(container_labels.get(DEVICES_LABEL, "").split(","))


def owner_id(pid: int) -> str:
    """Names a process for good: ids come again, but not with the same start."""
    return f"{pid}@{psutil.Process(pid).create_time():.2f}"


def is_orphan(container_labels: Mapping[str, str]) -> bool:
    """True if no other living process of this machine owns a container with these labels."""
    owner = container_labels.get(OWNER_LABEL, "")
    pid = owner.partition("@")[0]
    if not pid.isdigit() or int(pid) == os.getpid():
        return True
    try:
        return owner != owner_id(int(pid))
    except psutil.Error:
        return True


def container_name(task: Task) -> str:
    readable = re.sub(r"[^A-Za-z0-9_.-]", "-", f"{task.job.run_id}-{task.job.id}")
    return f"accelmatrix-{readable}-{uuid.uuid4().hex[:8]}"


def machine_id_hash(machine_id: Path = MACHINE_ID) -> str:
    try:
        identity = machine_id.read_text("utf-8").strip()
    except OSError:
        identity = ""
    return hashlib.sha256((identity or socket.gethostname()).encode()).hexdigest()[:16]


def ignored_options(requested: Mapping[str, Any], actual: Mapping[str, Any]) -> list[str]:
    return [name for name, value in requested.items() if not _holds(value, actual.get(name))]


def _holds(requested: Any, actual: Any) -> bool:
    if isinstance(requested, Mapping):
        entries = actual or {}
        return all(_holds(value, entries.get(name)) for name, value in requested.items())
    if isinstance(requested, list):
        items = actual or []
        return len(requested) == len(items) and all(map(_holds, requested, items))
    return bool(requested == actual or (not requested and not actual))


def open_inputs(task: Task, user: JobUser) -> None:
    """Let the job's user read what the job is given; files of others are checked alone."""
    if not user.is_lent_output:
        return
    for option, path in task.staged().items():
        if option == "--weights":
            require_readable(path, _shown(option, path), user)
        elif option != OUT:
            for source, _ in _sources(option, path, task):
                with translate_os_errors(source, "cannot be made readable"):
                    let_read(source)


def _shown(option: str, path: Path) -> Path:
    """The folder or file that is mounted: of weights in a hub's cache what their links lead to."""
    return repository_of(path) if option == "--weights" else path.resolve()


def _mounts(task: Task) -> list[dict[str, Any]]:
    return [
        {"Type": "bind", "Source": str(source), "Target": target, "ReadOnly": option != OUT}
        for option, path in task.staged().items()
        for source, target in _sources(option, path, task)
    ]


def _sources(option: str, path: Path, task: Task) -> list[tuple[Path, str]]:
    """The sources and targets of a path's mounts: of artifacts those of the job itself alone."""
    keys = {"--references": task.job.reference, "--graphs": task.job.graph}
    if option not in keys:
        return [(_shown(option, path), TARGETS[option])]
    suffixes = (".npz", FAILED_SUFFIX) if option == "--references" else ("",)
    names = [f"{keys[option]}{suffix}" for suffix in suffixes if keys[option]]
    own = [(path.resolve() / name, f"{TARGETS[option]}/{name}") for name in names]
    return [pair for pair in own if pair[0].exists() and not pair[0].is_symlink()]
