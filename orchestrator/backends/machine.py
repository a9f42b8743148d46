"""This machine: its memory and devices, the installed stacks, and the backends that it lacks."""

import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

import psutil

from orchestrator.backends.catalogue import CATALOGUE, OR_ENGINE, BackendSpec
from orchestrator.backends.probes import Need, ThisHost
from runner.contract.axes import Backend
from runner.contract.errors import BenchError, Unavailable
from runner.contract.host import read_processor
from runner.contract.reasons import Reason, reason
from runner.contract.record.ids import host_id

if TYPE_CHECKING:
    from runner.contract.cell import Purpose

MEMORY_MARGIN_BYTES = 512 << 20
MEMORY_MARGIN_SHARE = 1 / 16
_TIMED: "frozenset[Purpose]" = frozenset({"measure", "time"})
_SYSTEM_NAMES = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}


@dataclass(frozen=True)
class Machine:
    """The facts about a machine that a plan depends on; without arguments nothing is known."""

    memory_bytes: int | None = None
    """Host memory that a job may use where its limits don't say; None if it isn't known."""
    unavailable: Mapping[Backend, Reason] = field(default_factory=dict)
    find_lack: Callable[[Backend], Reason | None] | None = None
    """Looks for the device of a backend; None if it may be there."""
    load: float = 0.0
    """Processes of others that run."""
    cores: int = 1

    def lack(self, backend: Backend) -> Reason | None:
        return self.unavailable.get(backend) or (self.find_lack and self.find_lack(backend))

    @property
    def slowdown(self) -> float:
        """Times as long as alone that work on the CPUs takes: cores are shared evenly."""
        return 1 + self.load / self.cores


_IDLE, _LOOKS, _PAUSE_S = 0.5, 4, 0.01


def others_load(now: Path = Path("/proc/loadavg")) -> float:
    """Processes that run beside this one: now, or in the mean of the last minute if that is fewer.

    That mean remembers what has ended, and this moment may be one of a peak.
    """
    running = os.getloadavg()[0]
    for look in range(_LOOKS):
        if running <= _IDLE:
            break
        sleep(_PAUSE_S if look else 0)
        with suppress(OSError, ValueError, IndexError):  # where no kernel counts them
            running = min(running, int(now.read_text().split()[3].partition("/")[0]) - 1)
    return max(0.0, running)


def this_machine(
    purpose: "Purpose" = "measure",
    system: str = sys.platform,
    instruction_set: str = platform.machine(),
    nodes: Callable[[str], list[str]] | None = None,
) -> Machine:
    """The machine that this process runs on, as far as it is known without probing devices."""
    return Machine(
        memory_bytes=default_memory_bytes(psutil.virtual_memory().total),
        unavailable=dict(_unavailable(purpose, system, instruction_set, nodes or ThisHost().nodes)),
    )


def this_host() -> str | None:
    return host_id(host_facts())


def host_facts() -> Mapping[str, object]:
    processor, _ = read_processor()
    return {
        "cpu_model": processor,
        "cpu_cores_physical": psutil.cpu_count(logical=False),
        "cpu_cores_logical": psutil.cpu_count(logical=True),
        "memory_total_bytes": psutil.virtual_memory().total,
        "machine": platform.machine(),
    }


def default_memory_bytes(total_bytes: int) -> int:
    margin = max(MEMORY_MARGIN_BYTES, int(total_bytes * MEMORY_MARGIN_SHARE))
    return max(total_bytes - margin, total_bytes // 2)


def _unavailable(
    purpose: "Purpose", system: str, instruction_set: str, nodes: Callable[[str], list[str]]
) -> Iterator[tuple[Backend, Reason]]:
    from runner.contract.job import chosen_device  # some commands do without pydantic

    for backend, spec in CATALOGUE.items():
        if explanation := why_not_system(backend, system=system):
            yield backend, explanation
        simulator = spec.simulator
        if simulator is None or purpose not in _TIMED:
            continue
        is_chosen = simulator.choice and chosen_device(backend) == simulator.choice
        if not is_chosen and simulator.stands_in(system, instruction_set, nodes):
            yield (
                backend,
                reason("simulator_untimed", simulator=simulator.name, machine=instruction_set),
            )


_OF_DEVICES = frozenset({"driver", "device", "permission", "engine"})
"""Kinds of checks without which no job reaches the device, whichever runtime it has."""


def device_lack(
    backend: Backend, *, in_container: bool, host: ThisHost | None = None
) -> Reason | None:
    """The lack for which no job of this backend reaches its device; None where the CPU is one."""
    spec, needs = CATALOGUE[backend], list[Need]()
    if spec.probe is None or "cpu" in spec.locks:
        return None
    with suppress(BenchError):  # without an engine, which whoever needs it says
        needs.extend(spec.probe(host or ThisHost(), in_container=in_container))
    lacks = [need for need in needs if need.needed and not need.ok and need.kind in _OF_DEVICES]
    lacks = [need for need in lacks if need.kind != "engine"] or lacks  # it comes after the rest
    messages = "; ".join(need.message for need in lacks)
    remedies = "; ".join(dict.fromkeys(need.remedy for need in lacks if need.remedy))
    facts = {"backend": backend, "found": messages, "help": remedies or None}
    return reason("device_missing", **facts) if lacks else None


def require_device(backend: Backend, *, in_container: bool) -> None:
    if explanation := device_lack(backend, in_container=in_container):
        raise Unavailable(explanation)


def require_stack(
    backend: Backend,
    catalogue: Mapping[Backend, BackendSpec] = CATALOGUE,
    system: str = sys.platform,
    *,
    or_engine: bool = True,
) -> None:
    if explanation := why_not_system(backend, catalogue, system):
        raise Unavailable(explanation)
    stack = catalogue[backend].stack
    if stack is not None and find_spec(stack.package) is None:
        extra = stack.extras[-1] if stack.extras else None
        or_engine = or_engine and "docker" in catalogue[backend].launchers
        raise Unavailable(
            reason("launcher_package_missing", package=stack.package, extra=extra),
            hint=f"{stack.remedy}{OR_ENGINE if or_engine else ''}",
        )
    if stack is not None and stack.lacks is not None and (explanation := stack.lacks()):
        raise Unavailable(explanation)


def why_not_system(
    backend: Backend,
    catalogue: Mapping[Backend, BackendSpec] = CATALOGUE,
    system: str = sys.platform,
) -> Reason | None:
    spec = catalogue[backend]
    if not spec.systems or system in spec.systems:
        return None
    here = _SYSTEM_NAMES.get(system, system)
    names = " or ".join(_SYSTEM_NAMES.get(name, name) for name in spec.systems)
    return reason("other_system", backend=backend, systems=names, here=here)
