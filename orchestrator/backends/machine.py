"""This machine: its memory and devices, the installed stacks, and the backends that it lacks."""

import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import TYPE_CHECKING

import psutil

from orchestrator.backends.catalogue import CATALOGUE, OR_ENGINE, BackendSpec
from orchestrator.backends.probes import ThisHost
from runner.contract.axes import Backend
from runner.contract.errors import Unavailable
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


def require_device(backend: Backend, catalogue: Mapping[Backend, BackendSpec] = CATALOGUE) -> None:
    """Refuse a backend whose device a look at this machine does not find."""
    probe = catalogue[backend].probe
    needs = probe(ThisHost(), in_container=False) if probe else ()
    absent = [one.message for one in needs if one.kind == "device" and one.needed and not one.ok]
    if absent:
        raise Unavailable(reason("device_absent", backend=backend, lacks="; ".join(absent)))


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
