"""Progress of an order, sent to the driver as it happens."""

from collections.abc import Mapping
from pathlib import Path

from orchestrator.fleet.frames import BODY_BYTES
from orchestrator.fleet.messages import (
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
from orchestrator.screen.words.reasons import error_hint, error_text
from runner.contract.cell import Backend, Cell
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.contract.outputs import RECORD_SUFFIX, output_names
from runner.contract.plain_files import is_plain, read_plain
from runner.contract.record import Phase, Record

_LOG_BYTES = 1 << 20


class SendingObserver:
    """Sends what it is told; while a cell is timed that is nothing."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self.folder: RunFolder | None = None
        """The order's folder, as soon as there is one."""

    def note(self, text: str) -> None:
        """Send the note."""
        self._wire.send(Noted(text=text))

    def image_step(self, line: str) -> None:
        """Send the step."""
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
        """Send the phase."""
        self._wire.send(Entered(phase=phase, cell_id=cell and cell.id))

    def cell_visited(self, cell: Cell, job: Job) -> None:
        """Send that a round is over."""
        del job  # the driver knows it
        self._wire.send(Visited(cell_id=cell.id))

    def cell_ended(self, cell: Cell, record: Record) -> None:
        """Send the record's file; what is not `ok` may be a verdict of the host's own."""
        assert self.folder is not None
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
