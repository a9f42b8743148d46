"""Files and progress from a host, on their way into the run's folder: only what was ordered."""

from collections.abc import Collection, Sequence
from itertools import count
from pathlib import Path

from orchestrator.fleet.messages import (
    Building,
    Entered,
    Launched,
    Left,
    Noted,
    Recorded,
    ToDriver,
    Visited,
)
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.system.files import translate_os_errors
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile
from runner.contract.files import atomic_file
from runner.contract.job import Job
from runner.contract.outputs import RECORD_SUFFIX, output_names
from runner.contract.plain_files import TEXT_BYTES
from runner.contract.record import Status

_HOSTS_OWN = ("graph", "reference", "honest", "process_spreads", "counted")
"""Fields of a job that its host fills."""


class OrderArrivals:
    """Takes what one order leaves. A host's word is checked like that of an image."""

    def __init__(self, folder: RunFolder, cells: Sequence[Cell], observer: Observer) -> None:
        """The arrivals of one order.

        Args:
            folder: the run's folder, on the driver.
            cells: the cells that were ordered.
            observer: is told of the progress.
        """
        self._folder = folder
        self._cells = {cell.id: cell for cell in cells}
        self._observer = observer
        self._job: Job | None = None
        self.verdicts: dict[str, Status] = {}
        """The verdicts that arrived, by cell id."""

    @property
    def left(self) -> tuple[Cell, ...]:
        """The cells that have no verdict yet."""
        return tuple(cell for cell in self._cells.values() if cell.id not in self.verdicts)

    def take(self, message: ToDriver, body: bytes) -> None:
        """Take one message of the order's progress.

        Raises:
            DamagedFile: it is about something else than what was ordered.
            StoreError: the run's folder takes no more files.
        """
        if isinstance(message, Noted):
            self._observer.note(message.text)
        elif isinstance(message, Building):
            self._observer.image_step(message.line)
        elif isinstance(message, Launched):
            self._begin(message.job)
        elif isinstance(message, Entered):
            cell = self._cell(message.cell_id) if message.cell_id else None
            self._observer.phase_began(message.phase, cell)
        elif isinstance(message, Visited):
            self._visit(self._cell(message.cell_id))
        elif isinstance(message, Recorded):
            self._record(self._cell(message.cell_id), message.job, body)
        elif isinstance(message, Left):
            self._keep(message.path, body)

    def _begin(self, job: Job) -> None:
        self._keep_job(job)
        self._job = job
        self._observer.job_started(job)

    def _keep_job(self, job: Job) -> None:
        """Write the job file, by which records are checked: the ordered job, as the host has it."""
        if any(self._cells.get(cell.id) != cell for cell in job.cells):
            raise DamagedFile(f"a launch that nobody ordered: {job.id} of run {job.run_id}")
        ordered = self._folder.job(job.cells, job.provenance, job.round)
        if job != ordered.model_copy(update={name: getattr(job, name) for name in _HOSTS_OWN}):
            raise DamagedFile(f"another launch than was ordered: {job.id} of run {job.run_id}")
        self._folder.write_job(job)

    def _visit(self, cell: Cell) -> None:
        if self._job is not None:
            self._observer.cell_visited(cell, self._job)

    def _record(self, cell: Cell, job: Job | None, body: bytes) -> None:
        if self._folder.record_of(cell) is None:
            if job is not None:
                self._keep_job(job)
            self._folder.out(cell.job_id)
            _write(self._folder.file_of(cell), body)
        record = self._folder.record_of(cell)
        if record is None:
            damaged = self._folder.damaged[self._folder.file_of(cell)]
            raise DamagedFile(f"{cell.id}: {damaged.reason}")
        self.verdicts[cell.id] = record.status
        self._observer.cell_ended(cell, record)

    def _keep(self, path: Sequence[str], body: bytes) -> None:
        """Write a log, or what a job left beside its records."""
        folder, *names = path
        known = output_names(self._cells.values(), rounds=0)
        jobs = {cell.job_id for cell in self._cells.values()}
        if folder == "logs" and len(names) == 1:
            self._keep_log(names[0], jobs, body)
            return
        job_id, *rest = names or [""]
        is_output = folder == "records" and job_id in jobs and len(rest) == 1
        if not is_output or rest[0] not in known or rest[0].endswith(RECORD_SUFFIX):
            raise DamagedFile(f"a file that nobody asked for: {'/'.join(path)}")
        if len(body) <= known[rest[0]]:
            _write(self._folder.out(job_id) / rest[0], body)

    def _keep_log(self, name: str, jobs: Collection[str], body: bytes) -> None:
        """Write the log of an attempt; that of an earlier attempt on another host stays."""
        job_id, _, attempt = name.removesuffix(".log").rpartition(".")
        if job_id not in jobs or not attempt.isdecimal() or not name.endswith(".log"):
            raise DamagedFile(f"a log that nobody asked for: {name}")
        logs = self._folder.path / "logs"
        numbers = count(int(attempt))
        path = next(
            path for number in numbers if not (path := logs / f"{job_id}.{number}.log").exists()
        )
        if len(body) <= TEXT_BYTES:
            _write(path, body)

    def _cell(self, cell_id: str) -> Cell:
        if cell_id not in self._cells:
            raise DamagedFile(f"a cell that nobody ordered: {cell_id[:100]!r}")
        return self._cells[cell_id]


def _write(path: Path, content: bytes) -> None:
    with translate_os_errors(path), atomic_file(path) as file:
        file.write(content)
