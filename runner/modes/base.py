"""What every mode takes and gives."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from runner.backends.base import Session
from runner.cell import Cell, Job
from runner.measure.clock import Clock
from runner.measure.environment import Environment
from runner.measure.memory import MemoryMeter
from runner.record import Phase

EnterPhase = Callable[[Phase], None]


@dataclass(frozen=True)
class Instruments:
    """What a mode measures with."""

    clock: Clock
    memory: MemoryMeter
    environment: Environment
    enter: EnterPhase
    """Called as a phase begins, never while something is timed."""


Measurement = dict[str, Any]
"""Columns of `runner.record.Record`, by name."""


class ModeFunction(Protocol):
    """Measures one cell over an open session."""

    def __call__(
        self, session: Session, job: Job, cell: Cell, instruments: Instruments
    ) -> Measurement:
        """Run the phases `first`, `warmup` and `steady` and return what they gave."""
        ...
