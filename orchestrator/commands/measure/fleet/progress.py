"""Progress of a run on many hosts: a row for each of them on a terminal, names in a log."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from orchestrator.commands.program.progress import LiveObserver, PlainObserver, live_console
from orchestrator.fleet.orders import FleetObserver
from orchestrator.running.observer import Observer, PassingObserver, QuietObserver
from orchestrator.system.text import escape_control_line
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.reasons import Reason
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID


_LETTERS = 30
"""Letters of a host's name that its row shows."""


@contextmanager
def show_fleet_progress(*, quiet: bool) -> Iterator[FleetObserver]:
    """An observer of many hosts that draws until the context ends."""
    console = None if quiet else live_console()
    if quiet:
        yield QuietFleetObserver()
    elif console is not None:
        live = LiveFleetObserver(console)
        with live:
            yield live
    else:
        yield PlainFleetObserver()


class QuietFleetObserver(QuietObserver):
    """Discards every event of every host."""

    def on_host(self, host: str) -> Observer:
        """Drop the host's events as well."""
        del host
        return self

    def order_ended(self, host: str, fault: str | None) -> None:
        """Drop the event."""


class PlainFleetObserver(PlainObserver):
    """One line per event that matters, each with the name of its host."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._hosts: set[str] = set()

    def on_host(self, host: str) -> Observer:
        self._hosts.add(host)
        self._forecast.hosts = len(self._hosts)
        return NamingObserver(self, host)

    def order_ended(self, host: str, fault: str | None) -> None:
        """Say nothing: what was lost is noted, and what ended well shows by its cells."""


class LiveFleetObserver(LiveObserver):
    """A row for each host with its current job and cell; below them the whole run."""

    def __init__(self, console: "Console", clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(console, clock)
        self._rows: dict[str, _HostRow] = {}

    def on_host(self, host: str) -> Observer:
        """The host's row, which is there from its first order on."""
        if host not in self._rows:
            task = self._progress.add_task(host[:_LETTERS], total=0, now="")
            self._rows[host] = _HostRow(self, host, self._progress, task)
            self._forecast.hosts = len(self._rows)
        return self._rows[host]

    def order_ended(self, host: str, fault: str | None) -> None:
        if row := self._rows.get(host):
            row.rest(fault)

    def begin(self) -> None:
        """Begin the time of the whole run, if no job of any host has."""
        self._forecast.begin()
        self._draw_run()

    def visit(self, cell: Cell, job: Job) -> None:
        self._forecast.visit(cell, job)
        self._draw_run()

    def _draw_run(self) -> None:
        self._progress.update(self._run, now=self._forecast)


class NamingObserver(PassingObserver):
    """Passes on the progress on one host to an observer of all of them, with the host's name."""

    def __init__(self, observer: Observer, host: str) -> None:
        super().__init__(observer)
        self._host = host

    def note(self, text: str, reason: Reason | None = None) -> None:
        super().note(f"{self._host}: {text}", reason)

    def image_step(self, line: str) -> None:
        super().image_step(f"{self._host}: {line}")

    def job_started(self, job: Job) -> None:
        super().job_started(job.model_copy(update={"id": f"{self._host}: {job.id}"}))


class _HostRow(NamingObserver):
    """The row of one host: its job, how many of that job's cells it has done, its phase."""

    def __init__(
        self, fleet: LiveFleetObserver, host: str, progress: "Progress", task: "TaskID"
    ) -> None:
        super().__init__(fleet, host)
        self._fleet = fleet
        self._progress, self._task = progress, task
        self._job = ""

    def image_step(self, line: str) -> None:
        self._show(escape_control_line(line))

    def rest(self, fault: str | None) -> None:
        self._job = ""
        now = f"lost: {escape_control_line(fault)}" if fault else "idle"
        self._progress.update(self._task, total=0, completed=0, now=now)

    def job_started(self, job: Job) -> None:
        self._fleet.begin()
        self._job = job.id
        self._progress.update(self._task, total=len(job.cells), completed=0, now=job.id)

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        self._show(f"{self._job}: {cell.shape} {phase}" if cell else f"{self._job}: {phase}")

    def cell_visited(self, cell: Cell, job: Job) -> None:
        self._progress.update(self._task, advance=1)
        self._fleet.visit(cell, job)

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Count the cell; a verdict other than ok gets a line of its own."""
        self._progress.update(self._task, advance=1)
        super().cell_ended(cell, record)

    def _show(self, now: str) -> None:
        self._progress.update(self._task, now=now)
