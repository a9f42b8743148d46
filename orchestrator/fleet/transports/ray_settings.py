"""Ray's settings and command lines, the same on head, hosts and driver. Nothing here starts it."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

NAME_LABEL = "accelmatrix-name"
"""The label with a host's name in the fleet."""
HEAD_LABEL = "accelmatrix-head"
"""The label of a head that `fleet up` made; a cluster without one is somebody else's."""
OWNER_VARIABLE = "ACCELMATRIX_FLEET_NODE"
"""A random word in the environment of all processes that one `up` or `join` started."""
HOST_RESOURCE = "accelmatrix_host"
"""The resource of which each host has one: who holds it is the only driver there."""
OBJECT_STORE_BYTES = 256 << 20
"""Memory for what is on its way; it is shared memory, used as it fills."""
USUAL_PORT = 6479

_STRICT: Mapping[str, str] = {
    "RAY_health_check_initial_delay_ms": "1000",
    "RAY_health_check_period_ms": "1000",
    "RAY_health_check_timeout_ms": "2000",
    "RAY_health_check_failure_threshold": "3",
    "RAY_grpc_client_keepalive_time_ms": "5000",
    "RAY_grpc_client_keepalive_timeout_ms": "5000",
}
"""With Ray's defaults a host that is cut off is known to be lost after minutes, or never."""
_QUIET: Mapping[str, str] = {
    "RAY_raylet_report_resources_period_milliseconds": "1000",
    "RAY_raylet_check_gc_period_milliseconds": "10000",
    "RAY_object_manager_timer_freq_ms": "1000",
    "RAY_local_fs_monitor_interval_ms": "10000",
    "RAY_kill_idle_workers_interval_ms": "1000",
    "RAY_io_context_monitor_probe_interval_ms": "10000",
    "RAY_debug_dump_period_milliseconds": "0",
    "RAY_event_stats": "false",
    "RAY_enable_metrics_collection": "false",
    "RAY_enable_timeline": "false",
    "RAY_task_events_report_interval_ms": "0",
}
"""Timers that tick ten times a second by default, and statistics that nobody reads: beside what is
timed they took more than a percent of a core."""
_OURS: Mapping[str, str] = {
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_DEFAULT_PYTHON_VERSION_MATCH_LEVEL": "minor",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    "RAY_kill_child_processes_on_worker_exit": "false",
    "RAY_worker_niceness": "0",
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "1",
}
"""A benchmark may fill the memory; a host program cleans up by itself when its stdin ends; and what
it measures has the priority of a local run, where Ray would lower that of its workers by 15."""


@dataclass(frozen=True)
class NodeRequest:
    """A head or a host to be started on this machine."""

    owner: str
    """The word that marks its processes."""
    token_file: Path
    """The file with the cluster's token."""
    name: str | None = None
    """Its name as a host; None for a head that measures nothing."""
    labels: Mapping[str, str] | None = None
    """Words of its owner's."""


def ray_environment(token_file: Path | None) -> dict[str, str]:
    """The variables by which every process of a cluster, the driver's too, agrees with the others.

    Without a file of ours, Ray finds the token of a cluster of somebody else's by its own rules.
    """
    token = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token_file)}
    return {**_STRICT, **_QUIET, **_OURS, **(token if token_file else {})}


def node_environment(request: NodeRequest) -> dict[str, str]:
    """The variables of a head or a host."""
    return {**ray_environment(request.token_file), OWNER_VARIABLE: request.owner}


def head_command(request: NodeRequest, address: str, port: int, folder: Path) -> list[str]:
    """The command line that starts a head.

    Args:
        request: the head.
        address: the address of this machine that hosts shall use.
        port: the port of it.
        folder: the folder for Ray's sockets and logs, so that a Ray of the same user doesn't take
            this cluster for its own.
    """
    location = ("--head", f"--node-ip-address={address}", f"--port={port}", f"--temp-dir={folder}")
    return [
        *_start(),
        *location,
        "--include-dashboard=false",
        *_node_options(request, is_head=True),
    ]


def join_command(request: NodeRequest, head: str, folder: Path) -> list[str]:
    """The command line that makes this machine a host of the cluster at `head`."""
    location = (f"--address={head}", f"--temp-dir={folder}")
    return [*_start(), *location, *_node_options(request, is_head=False)]


def host_line(head: str, token_file: Path) -> str:
    """The line that a host runs to join."""
    return f"orchestrator fleet join {head} --token-file {token_file}"


def _start() -> list[str]:
    program = "from ray.scripts.scripts import main; main()"
    return [sys.executable, "-c", program, "start", "--disable-usage-stats", "--log-style=record"]


def _node_options(request: NodeRequest, *, is_head: bool) -> Sequence[str]:
    labels = {**(request.labels or {}), **({HEAD_LABEL: "true"} if is_head else {})}
    if request.name is not None:
        labels[NAME_LABEL] = request.name
    resources = {} if request.name is None else {HOST_RESOURCE: 1}
    return (
        "--num-cpus=0",
        "--num-gpus=0",
        f"--resources={json.dumps(resources)}",
        *([f"--labels={','.join(f'{key}={value}' for key, value in labels.items())}"]),
        f"--object-store-memory={OBJECT_STORE_BYTES}",
        "--include-log-monitor=false",
    )
