"""Flat, named facts about the machine and the software, as the runner sees them."""

import hashlib
import importlib.metadata
import math
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

from runner.contract.cell import Backend
from runner.measure.memory import cgroup
from runner.measure.vendors import amd, nvidia

GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
IDENTITY = ("cpu_model", "cpu_cores_physical", "cpu_cores_logical", "memory_total_bytes", "machine")


@dataclass(frozen=True)
class Environment:
    """What stays the same for all cells of a job; named as in `runner.record.Record`."""

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


def read_environment() -> Environment:
    """Look at the machine."""
    cpu_model, cpu_flags = _processor()
    return Environment(
        cpu_model=cpu_model,
        cpu_flags=cpu_flags,
        cpu_cores_physical=psutil.cpu_count(logical=False),
        cpu_cores_logical=psutil.cpu_count(logical=True),
        cpu_governor=GOVERNOR.read_text().strip() if GOVERNOR.exists() else None,
        cpu_affinity=_affinity(),
        memory_total_bytes=psutil.virtual_memory().total,
        machine=platform.machine(),
        operating_system=_operating_system(),
        kernel=platform.release(),
        container_memory_limit_bytes=cgroup.memory_limit_bytes(),
        container_cpu_limit=cgroup.cpu_limit(),
        python_version=platform.python_version(),
    )


def hardware_id(environment: Environment, device_name: str) -> str:
    """Sixteen hex digits that stay the same as long as the machine and its device do."""
    facts = [device_name, *(str(asdict(environment)[name]) for name in IDENTITY)]
    return hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]


def usable_cpus(environment: Environment) -> int:
    """Logical CPUs this process may use: its affinity, cut by the control group's quota."""
    cpus = len(environment.cpu_affinity or []) or environment.cpu_cores_logical or 1
    quota = environment.container_cpu_limit
    return cpus if quota is None else max(1, min(cpus, math.ceil(quota)))


def load_average_1m() -> float:
    """Mean number of runnable threads over the last minute."""
    return os.getloadavg()[0]


def versions(names: Iterable[str]) -> dict[str, str]:
    """The installed versions of these distributions; those not installed are left out."""
    found: dict[str, str] = {}
    for name in names:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def _affinity() -> list[int] | None:
    if sys.platform != "linux":
        return None
    return sorted(os.sched_getaffinity(0))


def _operating_system() -> str:
    try:
        return platform.freedesktop_os_release()["PRETTY_NAME"]
    except (OSError, KeyError):
        return platform.platform(terse=True)


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[str, list[str]]:
    facts: dict[str, str] = {}
    if cpuinfo.exists():
        for line in cpuinfo.read_text().partition("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            facts[key.strip()] = value.strip()
    model = facts.get("model name") or platform.processor() or platform.machine()
    flags = facts.get("flags") or facts.get("Features") or ""
    return model, flags.split()


def driver_version(backend: Backend, library: Any = None) -> Mapping[str, str]:
    """The driver's version by its name; empty where there is none, or none that tells.

    `library` stands in for pynvml or amdsmi.
    """
    try:
        if backend == "cuda":
            return {"nvidia-driver": _nvidia(library)}
        if backend == "rocm":
            return _amd(library)
    except Exception:  # vendors' libraries raise what they like
        return {}
    return {}


def _nvidia(library: Any) -> str:
    pynvml = library or nvidia.load_nvml()
    pynvml.nvmlInit()
    return str(pynvml.nvmlSystemGetDriverVersion())


def _amd(library: Any) -> Mapping[str, str]:
    amdsmi, device = amd.gpu_of(library)
    told = amdsmi.amdsmi_get_gpu_driver_info(device)
    return {str(told["driver_name"]): str(told["driver_version"])}
