"""What every mode takes and gives."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record import Phase
from runner.contract.rounds import RoundResult
from runner.measure.accelerator import AcceleratorReader
from runner.measure.clock import Clock
from runner.measure.energy import EnergyMeter
from runner.measure.environment import Environment
from runner.measure.memory.meter import MemoryMeter
from runner.measure.noise import NoiseMeter

EnterPhase = Callable[[Phase], None]


@dataclass(frozen=True)
class Instruments:
    """What a mode measures with."""

    clock: Clock
    memory: MemoryMeter
    energy: EnergyMeter
    noise: NoiseMeter
    environment: Environment
    enter: EnterPhase
    """Called as a phase begins, never while something is timed."""
    accelerator: AcceleratorReader = field(default_factory=AcceleratorReader)
    """Reads the state of the device, if it is an accelerator."""
    graphs: Path | None = None
    """The folder of prepared graphs, for processes that a mode starts itself."""
    earlier: Sequence[RoundResult] = ()
    """What the rounds before this one measured of the cell, in order."""


class Workload(Protocol):
    """What a mode repeats: it times itself, so that nothing else lies in the timed region."""

    @property
    def timed_region(self) -> str:
        """What lies between the two clock readings of an iteration."""
        ...

    @property
    def samples(self) -> int:
        """Samples in one iteration."""
        ...

    @property
    def parts_ns(self) -> Mapping[str, list[int]]:
        """Durations of the parts of all iterations since the last `forget`, by name."""
        ...

    def __call__(self) -> int:
        """Execute one iteration and return the nanoseconds it took."""
        ...

    def check(self) -> None:
        """Check that the iterations did what they should have.

        Apart from them and after all readings, since it takes time and memory of its own.

        Raises:
            BenchError: outputs are not finite, or nothing was learnt.
        """
        ...

    def forget(self) -> None:
        """Drop the parts kept so far: the steady phase begins."""
        ...

    def columns(self) -> Mapping[str, object]:
        """Columns that this mode alone knows, once all iterations are done."""
        ...

    def close(self) -> None:
        """Give back what the session holds for this workload alone."""
        ...


class ModeFunction(Protocol):
    """Measures one round of one cell over an open session."""

    def __call__(
        self, session: Session, job: Job, cell: Cell, instruments: Instruments
    ) -> RoundResult:
        """Run the phases `first`, `warmup`, `steady` and `observe`; return what they gave."""
        ...


class ColdModeFunction(Protocol):
    """Measures one round of one cell in processes of its own, before anything is loaded here."""

    def __call__(self, job: Job, cell: Cell, instruments: Instruments) -> RoundResult:
        """Run the phases and return what they gave."""
        ...
