"""Settings of the processor that its owner may change, as Linux shows them under /sys."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from runner.contract.frequency import read_frequency_policy, read_word
from runner.contract.topology import numa_nodes_of, read_topology, siblings_of, threads_per_core

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
