"""The CPUs and the variables of a runner."""

import os
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from orchestrator.system.text import split_list
from runner.contract.errors import UsageError, closest
from runner.contract.host import SYSTEM, place_job, read_topology
from runner.contract.job import DEVICE_VARIABLE, Job
from runner.contract.processes import DEVICE_CHOICES, OWN_PYTHON, is_variable_name


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


_PASSED = frozenset(
    {
        *("PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TMP", "TEMP", "TZ"),
        *("LANG", "LC_ALL", "LC_CTYPE"),
        *("LD_LIBRARY_PATH", "CONDA_PREFIX", "VIRTUAL_ENV"),
        *("XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE"),
        DEVICE_VARIABLE,
    }
)
"""Variables that say who and where we are; the loader's path is recorded, as it decides as well."""
_ARTIFACTS = ("reference", "prepare", "count")
"""Purposes whose results are kept for other runs, which know nothing of this one's variables."""


def inherited_variables(job: Job, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    names: Iterable[str] = () if job.purpose in _ARTIFACTS else job.inherit_environ
    return {name: ours[name] for name in names if name in ours}


def process_environment(job: Job, ours: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a local runner, which asks no model hub unless the user says so."""
    offline = ours.get("HF_HUB_OFFLINE") or "1"
    passed = {name: ours[name] for name in sorted(_PASSED | DEVICE_CHOICES) if name in ours}
    hub = {"HF_HUB_OFFLINE": offline, "TRANSFORMERS_OFFLINE": offline}
    browser = job.browser.variables(ours) if job.browser else {}
    return {**passed, **hub, **inherited_variables(job, ours), **browser, **OWN_PYTHON}


def set_variables(words: Iterable[str], ours: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """The names in the words of `--inherit-environ`, which commas may part."""
    names = tuple(dict.fromkeys(split_list(words)))
    for name in names:
        if name not in ours or not is_variable_name(name):
            near = closest(name, filter(is_variable_name, ours))
            raise UsageError(
                f"--inherit-environ: {name!r} is not set in this environment",
                hint=f"did you mean {near[0]}?" if near else "`export NAME=VALUE` sets a variable",
            )
    return names
