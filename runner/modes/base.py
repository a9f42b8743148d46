"""Protocols of modes and workloads, and the instruments that they measure with."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record.verdict import Phase
from runner.contract.rounds import RoundResult
from runner.measure.accelerator import AcceleratorReader
from runner.measure.clock import Clock
from runner.measure.cpu_clock import CpuClockMeter
from runner.measure.energy import EnergyMeter
from runner.measure.environment import Environment
from runner.measure.memory.meter import MemoryMeter
from runner.measure.noise import NoiseMeter
from runner.measure.page_cache import PageCache
from runner.measure.phases import TimeSeries

EnterPhase = Callable[[Phase], None]


@dataclass(frozen=True)
class Instruments:
    """Instruments of a mode."""

    clock: Clock
    memory: MemoryMeter
    energy: EnergyMeter
    noise: NoiseMeter
    environment: Environment
    enter: EnterPhase
    """Called as a phase begins, never while something is timed."""
    accelerator: AcceleratorReader = field(default_factory=AcceleratorReader)
    """Reads the state of the device, if it is an accelerator."""
    page_cache: PageCache = field(default_factory=PageCache)
    """Drops files from memory, for starts that read them from the disk."""
    cpu_clock: CpuClockMeter = field(default_factory=lambda: CpuClockMeter(()))
    """Reads the clock of the CPUs at work."""
    graphs: Path | None = None
    """The folder of prepared graphs, for processes that a mode starts itself."""
    earlier: Sequence[RoundResult] = ()
    """Results of the cell's earlier rounds, in order."""

    @property
    def spent_ns(self) -> int:
        """Time of the iterations of earlier rounds."""
        return sum(result.steady_ns for result in self.earlier)

    @property
    def enough_windows(self) -> int | None:
        """Windows of a warm-up that are enough, as earlier rounds found; None if none settled."""
        return self.earlier[-1].enough_windows if self.earlier else None


class Workload(Protocol):
    """The iteration that a mode repeats and that times itself, so that nothing else is timed."""

    @property
    def timed_region(self) -> str:
        """The work between the two clock readings of an iteration, for the record."""
        ...

    @property
    def samples(self) -> int:
        """Samples in one iteration."""
        ...

    @property
    def series(self) -> TimeSeries | None:
        """Executes several iterations that are timed elsewhere; None where each is called."""
        ...

    @property
    def parts_ns(self) -> Mapping[str, list[int]]:
        """Durations of the parts of all iterations since the last `forget`, by name."""
        ...

    def __call__(self) -> int:
        """Execute one iteration and return the nanoseconds it took."""
        ...

    def check(self) -> None:
        """Check the outputs of the iterations, after all readings.

        It takes time and memory of its own, so it is not part of an iteration.

        Raises:
            BenchError: outputs are not finite, or nothing was learnt.
        """
        ...

    def forget(self) -> None:
        """Drop the parts recorded so far, as the steady phase begins."""
        ...

    def columns(self) -> Mapping[str, object]:
        """Columns of this mode alone, after all iterations."""
        ...

    def close(self) -> None:
        """Release what the session holds for this workload alone."""
        ...


class ModeFunction(Protocol):
    """Measures one round of one cell over an open session."""

    def __call__(
        self, session: Session, job: Job, cell: Cell, instruments: Instruments
    ) -> RoundResult:
        """Run the phases `first`, `warmup`, `steady` and `observe`."""
        ...


class ColdModeFunction(Protocol):
    """Measures one round of one cell in processes of its own, before anything is loaded here."""

    def __call__(self, job: Job, cell: Cell, instruments: Instruments) -> RoundResult:
        """Run the phases."""
        ...
