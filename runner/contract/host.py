"""The processor of a machine, and the CPUs that a job executes on.

Runtimes count threads in different ways, so a job gets the same CPUs for all of them: one of each
physical core, of one NUMA node, of the fast kind.
"""

import platform
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING

from runner.contract.axes import Backend

if TYPE_CHECKING:
    from runner.contract.job import Job

SYS = Path("/sys")
SYSTEM = SYS / "devices" / "system"
_X86 = ("x86_64", "AMD64")
_WIDE_SUMS = frozenset({"avx512_vnni", "avx_vnni", "amx_int8"})
"""Flags of x86 processors that add products of bytes in 32 bits."""


def multiplies_signed_bytes(flags: Collection[str], machine: str = platform.machine()) -> bool:
    """True if ONNX Runtime multiplies uint8 by int8 exactly on such a processor.

    On x86 without VNNI it adds pairs of products in 16 bits, which saturate: 255 × 127 twice is
    32,767 there. With uint8 on both sides it takes another instruction, which is exact (ONNX
    Runtime's documentation, "Quantize ONNX models", on U8S8 and U8U8).
    """
    return machine not in _X86 or not _WIDE_SUMS.isdisjoint(flags)


def read_processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> tuple[str, list[str]]:
    facts: dict[str, str] = {}
    if cpuinfo.exists():
        for line in cpuinfo.read_text().partition("\n\n")[0].splitlines():
            key, _, value = line.partition(":")
            facts[key.strip()] = value.strip()
    model = facts.get("model name") or platform.processor() or platform.machine()
    flags = facts.get("flags") or facts.get("Features") or ""
    return model, flags.split()


@cache
def cpu_model() -> str:
    """The processor's name; read once, as the file grows with the number of CPUs."""
    return read_processor()[0]


_STEERING_DRIVERS = frozenset({"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"})
_FAST_PREFERENCES = frozenset({"performance", "balance_performance"})
SLOW_GOVERNOR = (
    "governor is powersave: set it to performance (cpupower frequency-set -g performance)"
)


@dataclass(frozen=True)
class FrequencyPolicy:
    """Governor, driver and preference of one CPU; null where the kernel shows none."""

    governor: str | None
    driver: str | None = None
    preference: str | None = None

    @property
    def keeps_clocks_low(self) -> bool:
        """True if the clock stays low under load.

        `powersave` of intel_pstate and amd_pstate_epp lets firmware choose the clock, by the
        preference that it is told (Linux, Documentation/admin-guide/pm/intel_pstate.rst and
        amd-pstate.rst).
        """
        is_steered = self.driver in _STEERING_DRIVERS
        is_fast = is_steered and self.preference in _FAST_PREFERENCES
        return self.governor == "powersave" and not is_fast


def read_frequency_policy(cpu: int = 0, sys: Path = SYS) -> FrequencyPolicy:
    folder = sys / "devices" / "system" / "cpu" / f"cpu{cpu}" / "cpufreq"
    return FrequencyPolicy(
        governor=read_word(folder / "scaling_governor"),
        driver=read_word(folder / "scaling_driver"),
        preference=read_word(folder / "energy_performance_preference"),
    )


def read_word(path: Path) -> str | None:
    """The content of a small file; None where there is none, or none that may be read."""
    try:
        return path.read_text().strip() or None
    except OSError:
        return None


FAST = 0.8
"""Least capacity of a fast core, by the greatest: efficiency cores have some 60 %, while fast ones
differ by a few percent among themselves (Linux, Documentation/scheduler/sched-capacity.rst)."""
_NOMINAL, _SLOW = 1024, 600
"""Capacities where a kernel tells none, of Intel's efficiency cores the second."""
_ACCELERATED: Collection[Backend] = ("cuda", "rocm", "mps")
"""Backends whose work lies elsewhere, near a node that nobody knows beforehand."""


@dataclass(frozen=True)
class LogicalCpu:
    """One hardware thread."""

    number: int
    siblings: tuple[int, ...]  # the hardware threads of its core, itself included
    node: int  # of NUMA
    capacity: int  # its speed, by that of other CPUs of the machine


Topology = Mapping[int, LogicalCpu]
"""The CPUs of a machine by number; empty where the kernel tells nothing."""


def read_topology(system: Path = SYSTEM) -> Topology:
    """The online CPUs, as Linux lists them in `cpu` and `node` of this folder."""
    nodes = {
        cpu: int(folder.name.removeprefix("node"))
        for folder in (system / "node").glob("node[0-9]*")
        for cpu in read_cpus(folder / "cpulist")
    }
    slow = read_cpus(system.parent / "cpu_atom" / "cpus")
    folders = {int(path.name[3:]): path for path in (system / "cpu").glob("cpu[0-9]*")}
    online = set(read_cpus(system / "cpu" / "online")) or folders.keys()
    return {
        number: LogicalCpu(
            number=number,
            siblings=_siblings(folder) or (number,),
            node=nodes.get(number, 0),
            capacity=int(
                read_word(folder / "cpu_capacity") or (_SLOW if number in slow else _NOMINAL)
            ),
        )
        for number, folder in sorted(folders.items())
        if number in online
    }


def requested_cpus(job: "Job") -> int | None:
    limit, threads = job.limits.cpus, job.cells[0].threads
    return min(limit, threads) if limit and threads else limit or threads


def is_pinned(job: "Job") -> bool:
    """True if a job gets CPUs of its own: one of an accelerator if it asks for a number of them."""
    return requested_cpus(job) is not None or job.cells[0].backend not in _ACCELERATED


def place_job(job: "Job", topology: Topology, allowed: Collection[int]) -> tuple[int, ...] | None:
    """The CPUs that a job is pinned to; None if it may use all of them."""
    return choose_cpus(topology, allowed, requested_cpus(job)) if is_pinned(job) else None


def choose_cpus(
    topology: Topology, allowed: Collection[int], count: int | None = None
) -> tuple[int, ...]:
    """So many of the allowed CPUs; without a number one of each fast core of one NUMA node.

    The node is the one with most such cores. Cores of higher numbers come first, since the first
    CPU serves the machine's interrupts; then those of other nodes, slow cores, and siblings last.
    """
    cores = _cores(topology, allowed)
    if not cores:
        return ()
    least = FAST * max(core.capacity for core in cores)
    by_node: dict[int, list[_Core]] = defaultdict(list)
    for core in cores:
        if core.capacity >= least:
            by_node[core.node].append(core)
    node = max(by_node, key=lambda number: (len(by_node[number]), number))
    if count is None:
        return tuple(sorted(core.cpus[0] for core in by_node[node]))

    def rank(core: _Core) -> tuple[bool, bool, int]:
        return core.capacity < least, core.node != node, -core.cpus[0]

    turns = zip_longest(*(core.cpus for core in sorted(cores, key=rank)))
    cpus = [cpu for cpu in chain.from_iterable(turns) if cpu is not None]
    return tuple(sorted(cpus[:count]))


@dataclass(frozen=True)
class _Core:
    cpus: list[int]  # its hardware threads that may be used
    node: int
    capacity: int


def _cores(topology: Topology, allowed: Collection[int]) -> Sequence[_Core]:
    """The physical cores of the allowed CPUs; a CPU that is not known is a core of its own."""
    cores: dict[tuple[int, ...], _Core] = {}
    for number in sorted(allowed):
        cpu = topology.get(number) or LogicalCpu(number, (number,), node=0, capacity=0)
        cores.setdefault(cpu.siblings, _Core([], cpu.node, cpu.capacity)).cpus.append(number)
    return list(cores.values())


def threads_per_core(topology: Topology) -> int | None:
    return max((len(cpu.siblings) for cpu in topology.values()), default=None)


def siblings_of(topology: Topology, cpus: Collection[int]) -> list[int]:
    cores = (topology[cpu].siblings for cpu in cpus if cpu in topology)
    return sorted(set(chain.from_iterable(cores)))


def numa_nodes_of(topology: Topology, cpus: Collection[int] | None = None) -> list[int]:
    wanted = topology.keys() if cpus is None else cpus
    return sorted({topology[cpu].node for cpu in wanted if cpu in topology})


def read_cpus(path: Path) -> list[int]:
    """The numbers in a list of the kernel's, `0-3,8`; none where there is no such file."""
    numbers: list[int] = []
    for part in filter(None, (read_word(path) or "").split(",")):
        first, _, last = part.partition("-")
        numbers += range(int(first), int(last or first) + 1)
    return numbers


def _siblings(folder: Path) -> tuple[int, ...]:
    names = ("core_cpus_list", "thread_siblings_list")
    lists = (read_cpus(folder / "topology" / name) for name in names)
    return tuple(next(filter(None, lists), ()))
