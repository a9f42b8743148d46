"""Facts about machine and software, and the processors and memory that a job may use."""

import importlib.metadata
import math
import os
import platform
import sys
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from runner.contract.cell import Backend
from runner.contract.host import (
    SYSTEM,
    choose_cpus,
    numa_nodes_of,
    place_job,
    read_frequency_policy,
    read_processor,
    read_topology,
    read_word,
    requested_cpus,
    siblings_of,
    threads_per_core,
)
from runner.contract.job import Job, Limits
from runner.contract.processes import runtime_variables
from runner.measure.memory import cgroup
from runner.measure.vendors.amd import amd_driver
from runner.measure.vendors.nvidia import nvidia_driver

SYS = Path("/sys")


@dataclass(frozen=True)
class ProcessorSettings:
    """Settings of the CPUs that a job executes on; named like the columns of `Record`."""

    cpu_governor: str | None
    cpu_scaling_driver: str | None
    cpu_energy_preference: str | None
    cpu_turbo: bool | None
    cpu_smt: bool | None
    cpu_threads_per_core: int | None
    cpu_siblings: list[int] | None
    numa_nodes: int | None
    cpu_numa_nodes: list[int] | None
    transparent_huge_pages: str | None


def read_processor_settings(
    cpus: Collection[int] | None = None, sys: Path = SYS
) -> ProcessorSettings:
    """The settings of these CPUs, where CPUs differ of the first one; of the first CPU for None."""
    system = sys / "devices" / "system"
    topology = read_topology(system)
    policy = read_frequency_policy(min(cpus or [0]), sys)
    return ProcessorSettings(
        cpu_governor=policy.governor,
        cpu_scaling_driver=policy.driver,
        cpu_energy_preference=policy.preference,
        cpu_turbo=_turbo(system / "cpu"),
        cpu_smt=_switch(system / "cpu" / "smt" / "active"),
        cpu_threads_per_core=threads_per_core(topology),
        cpu_siblings=siblings_of(topology, cpus or ()) or None,
        numa_nodes=len(numa_nodes_of(topology)) or None,
        cpu_numa_nodes=numa_nodes_of(topology, cpus or ()) or None,
        transparent_huge_pages=_chosen(sys / "kernel" / "mm" / "transparent_hugepage" / "enabled"),
    )


def _turbo(cpu: Path) -> bool | None:
    """True if clocks above the nominal one are allowed: intel_pstate's switch, or cpufreq's."""
    is_off = _switch(cpu / "intel_pstate" / "no_turbo")
    return _switch(cpu / "cpufreq" / "boost") if is_off is None else not is_off


def _switch(path: Path) -> bool | None:
    word = read_word(path)
    return None if word is None else word == "1"


def _chosen(path: Path) -> str | None:
    """The word in brackets: `always [madvise] never`."""
    words = (read_word(path) or "").split()
    return next((word.strip("[]") for word in words if word.startswith("[")), None)


def last_cache_bytes(cpus: Collection[int], sys: Path = SYS) -> int | None:
    """The caches of the last level that these CPUs have, together; None where none is shown."""
    sizes: dict[tuple[int, str], int] = {}
    for cpu in cpus:
        for cache in (sys / "devices" / "system" / "cpu" / f"cpu{cpu}" / "cache").glob("index*"):
            level, size = (read_word(cache / name) or "" for name in ("level", "size"))
            shared = read_word(cache / "shared_cpu_list") or str(cpu)
            if level.isdecimal() and size.endswith("K") and size[:-1].isdecimal():
                sizes[int(level), shared] = int(size[:-1]) << 10
    last = max((level for level, _ in sizes), default=None)
    return sum(size for (level, _), size in sizes.items() if level == last) or None


MEMORY_SHARE = 0.8
"""Share of the memory that a job may use: predictions can be wrong, and a kill is no error to
catch."""


@dataclass(frozen=True)
class Environment(ProcessorSettings):
    """Facts that are the same for all cells of a job; named like the columns of `Record`."""

    cpu_model: str
    cpu_flags: list[str]
    cpu_cores_physical: int | None
    cpu_cores_logical: int | None
    cpu_affinity: list[int] | None
    memory_total_bytes: int
    machine: str
    operating_system: str
    kernel: str
    container_memory_limit_bytes: int | None
    container_cpu_limit: float | None
    python_version: str
    environment_variables: dict[str, str] | None


def read_environment(inherited: Collection[str] = ()) -> Environment:
    """Read the facts from this machine.

    Args:
        inherited: the variables that the user named.
    """
    cpu_model, cpu_flags = read_processor()
    affinity = _affinity()
    return Environment(
        cpu_model=cpu_model,
        cpu_flags=cpu_flags,
        cpu_cores_physical=psutil.cpu_count(logical=False),
        cpu_cores_logical=psutil.cpu_count(logical=True),
        cpu_affinity=affinity,
        **vars(read_processor_settings(affinity)),
        memory_total_bytes=psutil.virtual_memory().total,
        machine=platform.machine(),
        operating_system=_operating_system(),
        kernel=platform.release(),
        container_memory_limit_bytes=cgroup.memory_limit_bytes(),
        container_cpu_limit=cgroup.cpu_limit(),
        python_version=platform.python_version(),
        environment_variables=runtime_variables(os.environ, inherited),
    )


def usable_cpus(
    environment: Environment, requested: int | None = None, system: Path = SYSTEM
) -> int:
    """Threads for one operator: the number requested, else a thread for each physical core.

    The cores are those of one NUMA node that this process may use; a quota counts in whole CPUs.
    """
    allowed = environment.cpu_affinity
    if allowed is None:
        cpus = environment.cpu_cores_physical or environment.cpu_cores_logical or 1
    elif requested is None:
        cpus = len(choose_cpus(read_topology(system), allowed))
    else:
        cpus = len(allowed)
    bounds = (cpus, requested, environment.container_cpu_limit)
    return max(1, math.floor(min(bound for bound in bounds if bound is not None)))


def job_threads(job: Job, environment: Environment | None = None) -> int:
    return usable_cpus(environment or read_environment(), requested_cpus(job))


def pin_process(job: Job, system: Path = SYSTEM) -> None:
    """Pin this process to the CPUs of its job, where no launcher has done so and the system can."""
    allowed = _affinity()
    cpus = allowed and place_job(job, read_topology(system), allowed)
    if cpus and len(cpus) < len(allowed or ()):
        os.sched_setaffinity(0, cpus)


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
    return os.getloadavg()[0]


def versions(names: Iterable[str]) -> dict[str, str]:
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
