"""A scripted machine: a session, and the instruments that measure it."""

from collections.abc import Callable, Iterable, Sequence
from typing import cast

from runner.backends.base import Session
from runner.contract.cell import Cell
from runner.contract.record.identity import Host
from runner.contract.rounds import RoundResult
from runner.inputs import Inputs
from runner.measure.accelerator import AcceleratorReader
from runner.measure.clock import NANOSECONDS
from runner.measure.cpu_clock import CpuClockMeter
from runner.measure.energy import EnergyMeter
from runner.measure.environment import read_environment
from runner.measure.memory.meter import MemoryMeter
from runner.measure.noise import NoiseMeter
from runner.measure.page_cache import PageCache
from runner.modes.base import Instruments
from tests.support.fakes import FakeClock
from tests.support.memory_readers import ScriptedReader

MILLISECOND = NANOSECONDS // 1000
Service = Callable[[int], float]
"""Seconds that a query of so many samples takes."""


class ScriptedCache(PageCache):
    """A page cache that keeps a share of what is dropped; None where nobody can tell."""

    def __init__(self, resident: float | None = None, *, can_drop: bool = True) -> None:
        self.dropped: list[list[str]] = []
        """The files of each drop."""
        self._resident = resident
        self._can_drop = can_drop

    @property
    def can_drop(self) -> bool:
        return self._can_drop

    def drop(self, files: Iterable[str]) -> None:
        self.dropped.append(list(files))

    def resident_share(self, files: Iterable[str]) -> float | None:
        del files
        return self._resident


class Scene:
    """Instruments of a mode, and a session whose queries advance a fake clock."""

    def __init__(
        self,
        service_s: Service = lambda _: 0.01,
        bytes_of: Callable[[int], int] = lambda _: 0,
        finite: bool = True,
    ) -> None:
        self.clock = FakeClock()
        self.reader = ScriptedReader()
        self.cache = ScriptedCache(can_drop=False)
        self.cpu_clock = CpuClockMeter(())
        self.accelerator = AcceleratorReader()
        self.bound: list[int] = []
        self.phases: list[str] = []
        self.timed_region = "a query"
        self._service_s = service_s
        self._bytes_of = bytes_of
        self._finite = finite
        self.session = cast("Session", self)

    def bind(self, cell: Cell, inputs: Inputs) -> Callable[[], object]:
        """A query that takes the time and the memory that its batch takes."""
        self.bound.append(cell.batch_size)

        def query() -> object:
            self.reader.peak = max(self.reader.peak or 0, self._bytes_of(cell.batch_size))
            self.clock.pass_by(round(self._service_s(cell.batch_size) * NANOSECONDS))
            return inputs

        return query

    def all_finite(self, outputs: object) -> bool:
        return self._finite

    def trim(self) -> None:
        """Nothing is kept."""

    def device_memory(self, *, reset: bool = False) -> None:
        """There is no device."""

    def sleep(self, seconds: float) -> None:
        self.clock.pass_by(round(seconds * NANOSECONDS))

    def instruments(
        self, earlier: Sequence[RoundResult] = (), environment: Host | None = None
    ) -> Instruments:
        """Instruments that read this scene's clock."""
        return Instruments(
            clock=self.clock,
            memory=MemoryMeter(self.reader, self.clock),
            energy=EnergyMeter(list, self.clock),
            noise=NoiseMeter(clock=self.clock, kernel=lambda: None),
            environment=environment or read_environment(),
            enter=self.phases.append,
            earlier=earlier,
            page_cache=self.cache,
            cpu_clock=self.cpu_clock,
            accelerator=self.accelerator,
        )
