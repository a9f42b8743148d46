"""CPUs that a launch is given: the job's choice among those of the machine that executes it."""

import os
from collections.abc import Collection
from pathlib import Path

from runner.contract.host import SYSTEM, place_job, read_topology
from runner.contract.job import Job


def cpus_of_process(job: Job, system: Path = SYSTEM) -> tuple[int, ...] | None:
    """The CPUs for a local process; None for all that we may use ourselves."""
    allowed = own_cpus()
    return None if allowed is None else place_job(job, read_topology(system), allowed)


def cpuset_of_container(job: Job, engine_cpus: int, system: Path = SYSTEM) -> str | None:
    """The CPUs for a container of an engine with so many, as engines list them; None for all.

    An engine with another number of CPUs than ours is on another machine, or in a virtual one,
    whose cores nobody knows: there each CPU counts as a core.
    """
    if engine_cpus == os.cpu_count():
        placed = cpus_of_process(job, system)
    else:
        placed = place_job(job, {}, range(engine_cpus))
    return None if placed is None else ",".join(map(str, placed))


def own_cpus() -> Collection[int] | None:
    """The CPUs that this process may use; None where the system pins no processes."""
    return os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
