"""Progress of orders: a host sends it as it happens, the driver shows it with the host's name."""

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from orchestrator.fleet.messages import (
    BODY_BYTES,
    Building,
    Declined,
    Entered,
    Launched,
    Left,
    Noted,
    Recorded,
    Visited,
)
from orchestrator.fleet.wire import Wire
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.screen.words.reasons import error_hint, error_text
from runner.contract.cell import Backend, Cell
from runner.contract.errors import BenchError
from runner.contract.files import is_plain, read_plain
from runner.contract.job import Job
from runner.contract.record.files import save_record
from runner.contract.record.record import Record
from runner.contract.record.verdict import Phase
from runner.contract.rounds import RECORD_SUFFIX, output_names

_LOG_BYTES = 1 << 20


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


class SendingObserver:
    """Sends what it is told; while a cell is timed that is nothing."""

    def __init__(self, wire: Wire, transport: str) -> None:
        self._wire, self._transport = wire, transport
        self.folder: RunFolder | None = None
        """The order's folder, as soon as there is one."""

    def note(self, text: str) -> None:
        self._wire.send(Noted(text=text))

    def image_step(self, line: str) -> None:
        self._wire.send(Building(line=line))

    def declined(self, backend: Backend, error: BenchError) -> None:
        """Send that this host lacks a backend."""
        self._wire.send(
            Declined(
                backend=backend,
                reason=error_text(error),
                hint=error_hint(error),
                exit_code=error.exit_code,
            )
        )

    def run_started(self, estimates_s: Mapping[str, float]) -> None:
        """Drop the event: the driver made the plan."""

    def job_started(self, job: Job) -> None:
        """Send the job, by which the driver checks records."""
        self._wire.send(Launched(job=job))

    def phase_began(self, phase: Phase, cell: Cell | None) -> None:
        self._wire.send(Entered(phase=phase, cell_id=cell and cell.id))

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Send that a round is over."""
        del job  # the driver knows it
        self._wire.send(Visited(cell_id=cell.id))

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Send the record's file; what is not `ok` may be a verdict of the host's own."""
        assert self.folder is not None
        record = record.model_copy(update={"transport": self._transport})
        with suppress(BenchError):  # a full disk: the record goes as it is
            save_record(record, self.folder.file_of(cell).parent)
        own = self.folder.job([cell], self.folder.nowhere) if record.status != "ok" else None
        content = self.folder.file_of(cell).read_bytes()
        self._wire.send(Recorded(cell_id=cell.id, job=own), content)


def send_files(folder: RunFolder, wire: Wire) -> None:
    """Send the logs of an order, and what its jobs left beside records."""
    for log in sorted((folder.path / "logs").glob("*.log")):
        _send(log, ("logs", log.name), _LOG_BYTES, wire)
    for job_id, cells in folder.jobs.items():
        for name, most_bytes in output_names(cells, rounds=0).items():
            if not name.endswith(RECORD_SUFFIX):
                _send(folder.records / job_id / name, ("records", job_id, name), most_bytes, wire)


def _send(file: Path, path: tuple[str, ...], most_bytes: int, wire: Wire) -> None:
    most_bytes = min(most_bytes, BODY_BYTES)
    if file.is_file() and is_plain(file, most_bytes):
        wire.send(Left(path=path), read_plain(file, most_bytes))
