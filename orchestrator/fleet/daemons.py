"""A fleet's daemons on a host: what they take while a cell is timed, for its record."""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from orchestrator.fleet.order_progress import SendingObserver
from orchestrator.fleet.transports.ray_daemons import owned_processes
from orchestrator.fleet.transports.ray_settings import OWNER_VARIABLE
from orchestrator.fleet.wire import Wire
from runner.contract.cell import Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.contract.record import Phase, Record
from runner.contract.record.doubts import BIAS, scaled, with_doubt
from runner.contract.record.files import save_record

_NAMES = ("sshd", "slurmstepd", "slurmd", "raylet", "ray::")
"""Beginnings of the names of programs that start ours on a host."""
_RAYLET = "raylet"


@dataclass(frozen=True)
class DaemonUse:
    """The daemons' part of a core while a cell was timed."""

    share: float | None
    """Share of a core; None where nobody counts."""
    beats: int
    """Signs of life that were sent."""


class DaemonMeter:
    """Counts in each cell's timed phase, and reads nothing in between."""

    def __init__(
        self,
        spent_s: Callable[[], float | None],
        beats: Callable[[], int],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """A meter.

        Args:
            spent_s: processor seconds of all daemons so far; None where nobody counts.
            beats: signs of life so far.
            clock: seconds that never go backwards.
        """
        self._spent_s, self._beats, self._clock = spent_s, beats, clock
        self._cell: str | None = None
        self._before: tuple[float, float | None, int] = (0.0, None, 0)
        self._used: dict[str, DaemonUse] = {}

    def begin(self, cell_id: str) -> None:
        """A cell is timed from now on."""
        self._cell, self._before = cell_id, self._read()

    def end(self) -> None:
        """The cell is timed no longer, if one was: the worst of its rounds counts."""
        if self._cell is None:
            return
        (began, before_s, before), (now, spent_s, beats) = self._before, self._read()
        known = self._used.get(self._cell, DaemonUse(None, 0))
        share = known.share
        if spent_s is not None and before_s is not None and now > began:
            share = max(share or 0.0, (spent_s - before_s) / (now - began))
        self._used[self._cell] = DaemonUse(share, known.beats + beats - before)
        self._cell = None

    def use_of(self, cell_id: str) -> DaemonUse | None:
        """The count for a cell; None if it never was timed."""
        return self._used.get(cell_id)

    def _read(self) -> tuple[float, float | None, int]:
        return self._clock(), self._spent_s(), self._beats()


class MeteringObserver(SendingObserver):
    """Sends the progress of an order, and completes each record by what the fleet took."""

    def __init__(self, wire: Wire, transport: str, meter: DaemonMeter) -> None:
        super().__init__(wire)
        self._transport, self._meter = transport, meter

    def job_started(self, job: Job) -> None:
        """Send the job."""
        self._meter.end()
        super().job_started(job)

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """Send the phase; a cell's time begins once that is done."""
        self._meter.end()
        super().phase_began(phase, cell)
        if phase == "steady" and cell is not None:
            self._meter.begin(cell.id)

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Send that a round is over."""
        self._meter.end()
        super().cell_visited(cell, job)

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Complete the record and send it."""
        self._meter.end()
        complete = with_transport(record, self._transport, self._meter.use_of(cell.id))
        assert self.folder is not None
        with suppress(BenchError):  # a full disk: the record goes as it is
            save_record(complete, self.folder.file_of(cell).parent)
        super().cell_ended(cell, record)


def with_transport(record: Record, transport: str, use: DaemonUse | None) -> Record:
    """The record of a cell that a fleet ordered; what daemons took may cost its grade."""
    values: dict[str, object] = {"transport": transport}
    if record.status == "ok" and use is not None:
        values |= {"noise_daemon_share": use.share, "noise_daemon_beats": use.beats}
        share = use.share or 0.0
        for doubt in scaled(BIAS, share, "daemons", "other_transport", share):
            values |= with_doubt(vars(record), doubt)
    return record.model_copy(update=values)


def meter_of_this_host(wire: Wire) -> DaemonMeter:
    """The meter of the daemons by which a driver reaches this process."""
    processes = daemons()
    return DaemonMeter(lambda: spent_s(processes), lambda: wire.beats)


def daemons() -> Sequence[int]:
    """The ids of the processes that carry orders to this one, without its own children."""
    own = psutil.Process()
    carriers = {process.pid: process for process in own.parents() if _is_daemon(process)}
    for process in list(carriers.values()):
        with suppress(psutil.Error):
            if process.name() == _RAYLET:
                carriers |= {child.pid: child for child in process.children(recursive=True)}
    if owner := os.environ.get(OWNER_VARIABLE):
        carriers |= {process.pid: process for process in owned_processes(owner)}
    family = {own.pid, *(child.pid for child in own.children(recursive=True))}
    return sorted(carriers.keys() - family)


def _is_daemon(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.name().startswith(_NAMES)
    return False


def spent_s(processes: Sequence[int], root: Path = Path("/proc")) -> float | None:
    """Processor seconds of these processes so far; None where the kernel does not tell.

    Ticks of 10 ms would be a percent of a second: the scheduler's nanoseconds are read.
    """
    spent_ns = [
        int(file.read_text().split()[0])
        for pid in processes
        for file in root.glob(f"{pid}/task/*/schedstat")
        if file.exists()
    ]
    return sum(spent_ns) / 1e9 if spent_ns else None
