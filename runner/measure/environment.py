"""Facts about machine and software, and the processors and memory that a job may use."""

import importlib.metadata
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from runner.contract.cell import Backend
from runner.contract.host import read_processor
from runner.contract.job import Limits
from runner.contract.variables import runtime_variables
from runner.measure.memory import cgroup
from runner.measure.vendors.amd import amd_driver
from runner.measure.vendors.nvidia import nvidia_driver

_GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
MEMORY_SHARE = 0.8
"""Share of the memory that a job may use: predictions can be wrong, and a kill is no error to
catch."""


@dataclass(frozen=True)
class Environment:
    """Facts that are the same for all cells of a job; named like the columns of `Record`."""

    cpu_model: str
    cpu_flags: list[str]
    cpu_cores_physical: int | None
    cpu_cores_logical: int | None
    cpu_governor: str | None
    cpu_affinity: list[int] | None
    memory_total_bytes: int
    machine: str
    operating_system: str
    kernel: str
    container_memory_limit_bytes: int | None
    container_cpu_limit: float | None
    python_version: str
    environment_variables: dict[str, str] | None


def read_environment() -> Environment:
    """Read the facts from this machine."""
    cpu_model, cpu_flags = read_processor()
    return Environment(
        cpu_model=cpu_model,
        cpu_flags=cpu_flags,
        cpu_cores_physical=psutil.cpu_count(logical=False),
        cpu_cores_logical=psutil.cpu_count(logical=True),
        cpu_governor=_GOVERNOR.read_text().strip() if _GOVERNOR.exists() else None,
        cpu_affinity=_affinity(),
        memory_total_bytes=psutil.virtual_memory().total,
        machine=platform.machine(),
        operating_system=_operating_system(),
        kernel=platform.release(),
        container_memory_limit_bytes=cgroup.memory_limit_bytes(),
        container_cpu_limit=cgroup.cpu_limit(),
        python_version=platform.python_version(),
        environment_variables=runtime_variables(os.environ),
    )


def usable_cpus(environment: Environment) -> int:
    """Logical CPUs that this process may use: its affinity, limited by its cgroup's quota."""
    cpus = len(environment.cpu_affinity or []) or environment.cpu_cores_logical or 1
    quota = environment.container_cpu_limit
    return cpus if quota is None else max(1, min(cpus, math.ceil(quota)))


def memory_budget_bytes(
    limits: Limits, environment: Environment, used_bytes: int, available_bytes: int | None = None
) -> int:
    """Bytes that this process and its children may use in all.

    80 % of the smallest of the job's limit, the container's, and what is used already together
    with what the machine has left.
    """
    if available_bytes is None:
        available_bytes = psutil.virtual_memory().available
    bounds = (
        limits.memory_bytes,
        environment.container_memory_limit_bytes,
        used_bytes + available_bytes,
    )
    return int(MEMORY_SHARE * min(bound for bound in bounds if bound is not None))


def load_average_1m() -> float:
    """Mean number of runnable threads over the last minute."""
    return os.getloadavg()[0]


def versions(names: Iterable[str]) -> dict[str, str]:
    """Versions of these distributions, without those that are not installed."""
    installed: dict[str, str] = {}
    for name in names:
        with suppress(importlib.metadata.PackageNotFoundError):
            installed[name] = importlib.metadata.version(name)
    return installed


def _affinity() -> list[int] | None:
    if sys.platform != "linux":
        return None
    return sorted(os.sched_getaffinity(0))


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform(terse=True)


def driver_version(backend: Backend, library: Any = None) -> Mapping[str, str]:
    """The accelerator driver's version by its name; empty if there is none or it is unknown.

    `library` stands in for pynvml or amdsmi.
    """
    try:
        if backend == "cuda":
            return nvidia_driver(library)
        if backend == "rocm":
            return amd_driver(library)
    except Exception:  # vendors' libraries raise what they like
        return {}
    return {}
