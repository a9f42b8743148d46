"""Progress of a run on many hosts."""

from collections.abc import Mapping
from typing import Protocol

from orchestrator.running.observer import Observer
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.record import Phase, Record


class FleetObserver(Observer, Protocol):
    """Is told about a run's progress, host by host."""

    def on_host(self, host: str) -> Observer:
        """The observer of what happens on this host."""
        ...

    def order_ended(self, host: str, fault: str | None) -> None:
        """The order that this host had is over; a fault says why it was lost."""
        ...


class NamingObserver:
    """Passes on the progress on one host to an observer of all of them, with the host's name."""

    def __init__(self, observer: Observer, host: str) -> None:
        self._observer = observer
        self._host = host

    def note(self, text: str) -> None:
        """Say whose note it is."""
        self._observer.note(f"{self._host}: {text}")

    def image_step(self, line: str) -> None:
        """Say whose image it is."""
        self._observer.image_step(f"{self._host}: {line}")

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """Drop the event: the run is the driver's."""

    def job_started(self, job: Job) -> None:
        """Pass it on with the host's name before the job's."""
        self._observer.job_started(job.model_copy(update={"id": f"{self._host}: {job.id}"}))

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        """Pass it on."""
        self._observer.phase_began(phase, cell)

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Pass it on."""
        self._observer.cell_visited(cell, job)

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Pass it on."""
        self._observer.cell_ended(cell, record)
