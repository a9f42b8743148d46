"""Machines as their kernel describes them: folders for /sys, and a slow /proc/cpuinfo."""

from collections.abc import Mapping, Sequence
from pathlib import Path

Cores = Sequence[tuple[int, ...]]
"""The hardware threads of each core."""


def a_sys_folder(
    folder: Path,
    nodes: Sequence[Cores],
    capacities: Mapping[int, int] | None = None,
    files: Mapping[str, str] | None = None,
) -> Path:
    """A /sys with the cores of each NUMA node, and further files by their paths."""
    system = folder / "devices" / "system"
    contents = {f"devices/system/node/node{n}/cpulist": _list(c) for n, c in enumerate(nodes)}
    for cpus in (core for cores in nodes for core in cores):
        for cpu in cpus:
            place = f"devices/system/cpu/cpu{cpu}"
            contents[f"{place}/topology/core_cpus_list"] = _numbers(cpus)
            if capacities:
                contents[f"{place}/cpu_capacity"] = str(capacities[cpu])
    (system / "cpu").mkdir(parents=True)
    for name, content in {**contents, **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")
    return folder


def cores(first: int, count: int, siblings_at: int | None = None) -> Cores:
    """So many cores from that CPU on, whose siblings lie so many CPUs behind."""
    numbers = range(first, first + count)
    return [(n,) if siblings_at is None else (n, n + siblings_at) for n in numbers]


def _list(group: Cores) -> str:
    return _numbers(tuple(cpu for cpus in group for cpu in cpus))


def _numbers(cpus: tuple[int, ...]) -> str:
    return ",".join(map(str, sorted(cpus)))
