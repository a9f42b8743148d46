"""What a plan must know of the machine it is made for; planning itself looks at none."""

import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import psutil

from orchestrator.backends.stacks import STACKS, why_not_system
from runner.contract.cell import Backend, Purpose

MEMORY_MARGIN_BYTES = 512 << 20
MEMORY_MARGIN_SHARE = 1 / 16


def default_memory_bytes(total_bytes: int) -> int:
    """What a job may use if the plan doesn't say: all but a margin that keeps the host alive."""
    margin = max(MEMORY_MARGIN_BYTES, int(total_bytes * MEMORY_MARGIN_SHARE))
    return max(total_bytes - margin, total_bytes // 2)


X86 = frozenset({"x86_64", "AMD64"})
"""Instruction sets, as Linux and Windows name them, on which qnn is a simulator."""


@dataclass(frozen=True)
class Machine:
    """Where cells will run; one of which nothing is known if it is made without arguments."""

    memory_bytes: int | None = None
    """Host memory that a job may use where its limits don't say; None if nobody knows."""
    unavailable: Mapping[Backend, str] = field(default_factory=dict)
    """Backends that it lacks, with the reason."""


def this_machine(
    purpose: Purpose = "measure",
    system: str = sys.platform,
    instruction_set: str = platform.machine(),
) -> Machine:
    """The machine that this process runs on, as far as it is known without probing devices."""
    return Machine(
        memory_bytes=default_memory_bytes(psutil.virtual_memory().total),
        unavailable=dict(_unavailable(purpose, system, instruction_set)),
    )


def _unavailable(
    purpose: Purpose, system: str, instruction_set: str
) -> Iterator[tuple[Backend, str]]:
    for backend in STACKS:
        if reason := why_not_system(backend, system=system):
            yield backend, reason
    if purpose in {"measure", "time"} and instruction_set in X86:
        yield "qnn", _SIMULATED


_SIMULATED = "the HTP simulator's time says nothing about a device: `orchestrator verify`"
"""What the runner says, too, of a job that it is given."""
