"""Facts about machine and software, and the processors and memory that a job may use."""

import importlib.metadata
import math
import os
import platform
import sys
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from runner.contract.host import (
    SYS,
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
from runner.contract.record.identity import Host
from runner.measure.memory import cgroup

MEMORY_SHARE = 0.8
"""Share of the memory that a job may use: predictions can be wrong, and a kill is no error to
catch."""


def read_environment(inherited: Collection[str] = ()) -> Host:
    """The facts about this machine and Python that are the same for all cells of a job.

    `inherited` are the variables that the user named.
    """
    cpu_model, cpu_flags = read_processor()
    affinity = _affinity()
    return Host(
        cpu_model=cpu_model,
        cpu_flags=cpu_flags,
        cpu_cores_physical=psutil.cpu_count(logical=False),
        cpu_cores_logical=psutil.cpu_count(logical=True),
        cpu_affinity=affinity,
        **read_processor_settings(affinity),
        memory_total_bytes=psutil.virtual_memory().total,
        machine=platform.machine(),
        operating_system=_operating_system(),
        kernel=platform.release(),
        container_memory_limit_bytes=cgroup.memory_limit_bytes(),
        container_cpu_limit=cgroup.cpu_limit(),
        python_version=platform.python_version(),
        environment_variables=runtime_variables(os.environ, inherited),
    )


def read_processor_settings(cpus: Collection[int] | None = None, sys: Path = SYS) -> dict[str, Any]:
    """Columns about what the owner of a processor may change, as Linux shows it under /sys.

    Where CPUs differ it is that of the first of these; of the first CPU for None.
    """
    system = sys / "devices" / "system"
    topology = read_topology(system)
    policy = read_frequency_policy(min(cpus or [0]), sys)
    turbo_is_off = _switch(system / "cpu" / "intel_pstate" / "no_turbo")
    boost = _switch(system / "cpu" / "cpufreq" / "boost")
    # The word in brackets is the choice: `always [madvise] never`.
    huge_pages = read_word(sys / "kernel" / "mm" / "transparent_hugepage" / "enabled") or ""
    chosen = (word.strip("[]") for word in huge_pages.split() if word.startswith("["))
    return {
        "cpu_governor": policy.governor,
        "cpu_scaling_driver": policy.driver,
        "cpu_energy_preference": policy.preference,
        "cpu_turbo": boost if turbo_is_off is None else not turbo_is_off,
        "cpu_smt": _switch(system / "cpu" / "smt" / "active"),
        "cpu_threads_per_core": threads_per_core(topology),
        "cpu_siblings": siblings_of(topology, cpus or ()) or None,
        "numa_nodes": len(numa_nodes_of(topology)) or None,
        "cpu_numa_nodes": numa_nodes_of(topology, cpus or ()) or None,
        "transparent_huge_pages": next(chosen, None),
    }


def _switch(path: Path) -> bool | None:
    word = read_word(path)
    return None if word is None else word == "1"


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


def usable_cpus(environment: Host, requested: int | None = None, system: Path = SYSTEM) -> int:
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


def job_threads(job: Job, environment: Host | None = None) -> int:
    return usable_cpus(environment or read_environment(), requested_cpus(job))


def pin_process(job: Job, system: Path = SYSTEM) -> None:
    """Pin this process to the CPUs of its job, where no launcher has done so and the system can."""
    allowed = _affinity()
    cpus = allowed and place_job(job, read_topology(system), allowed)
    if cpus and len(cpus) < len(allowed or ()):
        os.sched_setaffinity(0, cpus)


def memory_budget_bytes(
    limits: Limits, environment: Host, used_bytes: int, available_bytes: int | None = None
) -> int:
    """Bytes that this process and its children may use in all.

    80 % of the smallest of the job's limit, the container's, and what is used already together
    with what the machine has left.
    """
    if available_bytes is None:
        available_bytes = psutil.virtual_memory().available
    container = environment.container_memory_limit_bytes
    bounds = (limits.memory_bytes, container, used_bytes + available_bytes)
    return int(MEMORY_SHARE * min(bound for bound in bounds if bound is not None))


def load_average_1m() -> float:
    return os.getloadavg()[0]


def versions(names: Iterable[str]) -> dict[str, str]:
    """By name, of the distributions that are installed."""
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
