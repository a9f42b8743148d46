"""What a plan must know of the machine it is made for; planning itself looks at none."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import psutil

from orchestrator.launchers.base import default_memory_bytes
from runner.cell import Backend


@dataclass(frozen=True)
class Machine:
    """Where cells will run; one of which nothing is known if it is made without arguments."""

    memory_bytes: int | None = None
    """Host memory that a job may use where its limits don't say; None if nobody knows."""
    unavailable: Mapping[Backend, str] = field(default_factory=dict)
    """Backends that it lacks, with the reason."""


def this_machine() -> Machine:
    """The machine that this process runs on."""
    return Machine(memory_bytes=default_memory_bytes(psutil.virtual_memory().total))
