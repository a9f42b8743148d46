"""Shared by modes: instruments, the workload of inference and of all, phases of a warm cell."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from runner.backends.base import InPage, Session
from runner.contract.cell import Cell
from runner.contract.errors import BenchError, TimedOut
from runner.contract.job import Job
from runner.contract.reasons import Reason, reason
from runner.contract.record.identity import Host
from runner.contract.record.record import Columns
from runner.contract.record.verdict import Phase
from runner.contract.rounds import Energy, MemoryUse, RoundResult, total_energy
from runner.inputs import synthesise
from runner.measure.accelerator import AcceleratorReader
from runner.measure.bursts import BurstTaker
from runner.measure.clock import Clock
from runner.measure.cpu_clock import CpuClockMeter
from runner.measure.energy import EnergyMeter
from runner.measure.environment import load_average_1m
from runner.measure.memory.meter import MemoryMeter
from runner.measure.noise import NoiseMeter
from runner.measure.page_cache import PageCache
from runner.measure.page_faults import PageFaultMeter
from runner.measure.phases import (
    SelfTimed,
    TimeSeries,
    WarmUp,
    each_of,
    garbage_frozen,
    heat,
    quota_of,
    run_steady_phase,
    time_once,
    warm_up,
)


@dataclass(frozen=True)
class Instruments:
    """Instruments of a mode."""

    clock: Clock
    memory: MemoryMeter
    energy: EnergyMeter
    noise: NoiseMeter
    environment: Host
    enter: Callable[[Phase], None]
    """Called as a phase begins, never while something is timed."""
    accelerator: AcceleratorReader = field(default_factory=AcceleratorReader)
    page_cache: PageCache = field(default_factory=PageCache)
    page_faults: PageFaultMeter = field(default_factory=PageFaultMeter)
    cpu_clock: CpuClockMeter = field(default_factory=lambda: CpuClockMeter(()))
    graphs: Path | None = None
    """The folder of prepared graphs, for processes that a mode starts itself."""
    earlier: Sequence[RoundResult] = ()
    """Results of the cell's earlier rounds, in order."""
    turns: Iterator[float] | None = None
    """The seconds of each burst, as its turn comes; None for a cell that is measured alone."""

    @property
    def spent_ns(self) -> int:
        return sum(result.steady_ns for result in self.earlier)

    @property
    def enough_windows(self) -> int | None:
        """Windows of a warm-up that are enough, as earlier rounds found; None if none settled."""
        return self.earlier[-1].enough_windows if self.earlier else None

    @contextmanager
    def unmeasured(self) -> Iterator[None]:
        """Ignore the memory and the page faults of what happens inside."""
        with self.page_faults.uncounted(), self.memory.unmeasured():
            yield


class Workload(ABC):
    """The iteration that a mode repeats and that times itself, so that nothing else is timed."""

    timed_region: str
    """The work between the two clock readings of an iteration, for the record."""
    samples: int
    """Samples in one iteration."""
    series: TimeSeries | None = None
    """Executes several iterations that are timed elsewhere; None where each is called."""
    parts_ns: Mapping[str, list[int]] = MappingProxyType({})
    """Durations of the parts of all iterations since the last `forget`, by name."""

    @abstractmethod
    def __call__(self) -> int:
        """Execute one iteration and return the nanoseconds it took."""

    @abstractmethod
    def check(self) -> None:
        """Check the outputs after all readings, since that takes time and memory of its own."""

    def forget(self) -> None:
        """Drop the parts recorded so far, as the steady phase begins."""
        for durations in self.parts_ns.values():
            durations.clear()

    def columns(self) -> Columns:
        """Columns of this mode alone, after all iterations."""
        return {}

    def close(self) -> None:  # noqa: B027 - most sessions hold nothing for one workload alone
        """Release what the session holds for this workload alone."""


ModeFunction = Callable[[Session, Job, Cell, Instruments], RoundResult]
"""Measures one round of one cell over an open session, in the phases `first` to `observe`."""
ColdModeFunction = Callable[[Job, Cell, Instruments], RoundResult]
"""Measures one round of one cell in processes of its own, before anything is loaded here."""
_W = TypeVar("_W", bound=Workload)


def measure_steadily(
    make: Callable[[], Workload], session: Session, job: Job, instruments: Instruments
) -> RoundResult:
    """Measure iterations one after the other; nothing else runs in the steady phase."""
    iterate = partial(_iterate, job=job, instruments=instruments)
    return measure_phases(make, iterate, session, job, instruments)


def measure_phases(
    make: Callable[[], _W],
    measure: Callable[[_W, WarmUp], Columns],
    session: Session,
    job: Job,
    instruments: Instruments,
) -> RoundResult:
    """Take the workload that `make` binds through its phases.

    `measure` is the steady phase: it returns its own fields of `RoundResult`.
    """
    load = load_average_1m()
    instruments.enter("first")
    session.trim()
    instruments.memory.reset()
    session.device_memory(reset=True)
    with closing(make()) as workload:
        first_ns = workload()
        with garbage_frozen():
            heating_ns = heat_up(workload, job, instruments)
            instruments.cpu_clock.before()
            instruments.noise.before()  # ahead of the warm-up, which leads straight to steady
            instruments.enter("warmup")
            warmup = warm_up(workload, instruments.clock, job.measure, instruments.enough_windows)
            instruments.memory.mark()
            instruments.enter("steady")
            instruments.accelerator.begin()
            instruments.cpu_clock.begin()
            instruments.page_faults.begin()
            measured = measure(workload, warmup)
            instruments.page_faults.end()
            device = instruments.accelerator.read()  # at once, before its clock goes down again
            cpu_clock = instruments.cpu_clock.end()
            measured_at = datetime.now(UTC)
        noise = instruments.noise.after()
        with instruments.memory.unmeasured():
            page_faults = instruments.page_faults.read()
        if measured.get("cut_short"):  # whatever executed it answers no more
            memory = MemoryUse(peak_bytes=None, steady_peak_bytes=None, average_bytes=None)
        else:
            instruments.enter("observe")
            instruments.memory.observe(workload)
            memory = _memory_use(session, instruments)
            workload.check()
    return RoundResult(
        **measured,
        first_ns=first_ns,
        heating_ns=heating_ns,
        warmup_ns=warmup.durations_ns,
        enough_windows=warmup.enough_windows,
        settled=warmup.settled,
        noise=noise,
        device=device,
        cpu_clock=cpu_clock,
        page_faults=page_faults,
        memory=memory,
        measured_at=measured_at,
        load_average_1m=load,
    )


def heat_up(workload: Workload, job: Job, instruments: Instruments) -> list[int]:
    """Repeat the iteration for as long as the job asks for; the durations of that."""
    if job.measure.heat_s is None:
        return []
    instruments.enter("warmup")
    return heat(workload, job.measure.heat_s, workload.series)


def _iterate(workload: Workload, _: WarmUp, *, job: Job, instruments: Instruments) -> Columns:
    if instruments.turns is not None:
        return _take_turns(workload, instruments.turns, instruments)
    quota = quota_of(job.measure, instruments.spent_ns)
    workload.forget()
    instruments.energy.start()
    cut_short: Reason | None = None
    try:
        unmeasured = instruments.unmeasured
        durations: Sequence[int] = run_steady_phase(workload, quota, unmeasured, workload.series)
    except TimedOut as silence:  # it answered no more
        if not silence.ended_ns:
            raise
        durations, cut_short = silence.ended_ns, silence.reason
    energy = instruments.energy.stop()
    measured = _timed(workload, durations, workload.parts_ns)
    return {**measured, "energy": energy, "cut_short": cut_short}


def _take_turns(workload: Workload, turns: Iterator[float], instruments: Instruments) -> Columns:
    """Take a burst at each turn; in between nothing is done, and what the host does is not ours."""
    workload.forget()
    taker = BurstTaker(
        workload.series or each_of(workload), workload.parts_ns, instruments.accelerator.clock_hz
    )
    energies: list[Energy] = []
    instruments.cpu_clock.pause()
    instruments.noise.pause()
    for burst_s in turns:
        instruments.noise.resume()
        instruments.cpu_clock.resume()
        instruments.energy.start()
        taker.take(burst_s)
        energies.append(instruments.energy.stop())
        instruments.cpu_clock.pause()
        taker.rest()
        instruments.noise.pause()
    instruments.noise.resume()
    taken = taker.taken()
    return {
        **_timed(workload, taken.durations_ns, taken.parts_ns),
        "energy": total_energy(energies),
        "bursts": taken.bursts,
    }


def _timed(
    workload: Workload, durations: Sequence[int], parts_ns: Mapping[str, Sequence[int]]
) -> dict[str, Any]:
    return {
        "samples": workload.samples * len(durations),
        "steady_ns": sum(durations),
        "durations_ns": durations,
        "parts_ns": {name: list(values) for name, values in parts_ns.items()},
        "columns": {"timed_region": workload.timed_region, **workload.columns()},
    }


def _memory_use(session: Session, instruments: Instruments) -> MemoryUse:
    use, device = instruments.memory.use(), session.device_memory()
    if isinstance(session, InPage):
        return use.model_copy(update=asdict(session.page_memory()))
    if device is None:
        return use
    peaks = {
        "allocator_peak_bytes": device.allocator_peak_bytes,
        "device_peak_bytes": device.used_bytes,
    }
    return use.model_copy(update=peaks)


class InferenceWorkload(Workload):
    """One iteration is one query; its outputs are checked once."""

    def __init__(self, session: Session, job: Job, cell: Cell, clock: Clock) -> None:
        self._session = session
        self._clock = clock
        self._query = session.bind(cell, synthesise(job.model, cell, job.weights_seed))
        self.samples = cell.batch_size
        self.timed_region = session.timed_region
        self.series = self._query.series if isinstance(self._query, SelfTimed) else None

    def __call__(self) -> int:
        return time_once(self._query, self._clock)

    def check(self) -> None:
        require_finite(self._session, self._query())


def require_finite(session: Session, outputs: object) -> None:
    if not session.all_finite(outputs):
        raise BenchError(reason("not_finite"))
