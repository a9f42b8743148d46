"""Orders that hosts have: the unit, the conversation about it, and what has arrived of it."""

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from pathlib import Path
from queue import Queue
from typing import Protocol

from orchestrator.fleet.dispatch import Unit
from orchestrator.fleet.messages import (
    Building,
    Declined,
    Entered,
    Frame,
    Launched,
    Left,
    Noted,
    Order,
    Recorded,
    Shared,
    ToDriver,
    Visited,
    frame_of,
)
from orchestrator.fleet.presence import Reach
from orchestrator.fleet.shared_artifacts import keep_artifact, known_artifacts, wanted_artifacts
from orchestrator.fleet.transport import Heard, Talk, end_later
from orchestrator.fleet.units import sub_plan
from orchestrator.images.source import runner_digest
from orchestrator.running.folder import RunFolder
from orchestrator.running.observer import Observer
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunFile, run_file_text
from orchestrator.system.files import translate_os_errors
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile
from runner.contract.files import TEXT_BYTES, atomic_file
from runner.contract.job import Job
from runner.contract.record.verdict import Status
from runner.contract.rounds import RECORD_SUFFIX, output_names

_HOSTS_OWN = ("graph", "reference", "honest", "process_spreads", "counted")
"""Fields of a job that its host fills."""
_LOG = re.compile(r"(.*)\.(\d+)\.log", re.ASCII | re.DOTALL)


class OrderArrivals:
    """Takes what one order leaves. A host's word is checked like that of an image."""

    def __init__(self, folder: RunFolder, cells: Sequence[Cell], observer: Observer) -> None:
        self._folder = folder
        self._cells = {cell.id: cell for cell in cells}
        self._observer = observer
        self._job: Job | None = None
        self.verdicts: dict[str, Status] = {}

    @property
    def left(self) -> tuple[Cell, ...]:
        return tuple(cell for cell in self._cells.values() if cell.id not in self.verdicts)

    def take(self, message: ToDriver, body: bytes) -> None:
        if isinstance(message, Noted):
            self._observer.note(message.text, message.reason)
        elif isinstance(message, Building):
            self._observer.image_step(message.line)
        elif isinstance(message, Launched):
            self._keep_job(message.job)
            self._job = message.job
            self._observer.job_started(message.job)
        elif isinstance(message, Entered):
            cell = self._cell(message.cell_id) if message.cell_id else None
            self._observer.phase_began(message.phase, cell)
        elif isinstance(message, Visited):
            cell = self._cell(message.cell_id)
            if self._job is not None:
                self._observer.cell_visited(cell, self._job)
        elif isinstance(message, Recorded):
            self._record(self._cell(message.cell_id), message.job, body)
        elif isinstance(message, Left):
            self._keep(message.path, body)

    def _keep_job(self, job: Job) -> None:
        """Write the job file, by which records are checked: the ordered job, as the host has it."""
        if any(self._cells.get(cell.id) != cell for cell in job.cells):
            raise DamagedFile(f"a launch that nobody ordered: {job.id} of run {job.run_id}")
        ordered = self._folder.run.job(job.cells, job.provenance, job.round)
        if job != ordered.model_copy(update={name: getattr(job, name) for name in _HOSTS_OWN}):
            raise DamagedFile(f"another launch than was ordered: {job.id} of run {job.run_id}")
        self._folder.job_files.write(job)

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
            log = _LOG.fullmatch(names[0])
            if log is None or log[1] not in jobs:
                raise DamagedFile(f"a log that nobody asked for: {names[0]}")
            # That of an earlier attempt on another host stays.
            paths = (self._folder.path / "logs" / f"{log[1]}.{n}.log" for n in count(int(log[2])))
            if len(body) <= TEXT_BYTES:
                _write(next(path for path in paths if not path.exists()), body)
            return
        job_id, *rest = names or [""]
        is_output = folder == "records" and job_id in jobs and len(rest) == 1
        if not is_output or rest[0] not in known or rest[0].endswith(RECORD_SUFFIX):
            raise DamagedFile(f"a file that nobody asked for: {'/'.join(path)}")
        if len(body) <= known[rest[0]]:
            _write(self._folder.out(job_id) / rest[0], body)

    def _cell(self, cell_id: str) -> Cell:
        if cell_id not in self._cells:
            raise DamagedFile(f"a cell that nobody ordered: {cell_id[:100]!r}")
        return self._cells[cell_id]


def _write(path: Path, content: bytes) -> None:
    with translate_os_errors(path), atomic_file(path) as file:
        file.write(content)


@dataclass(frozen=True)
class UnitWork:
    """Cells of one run that one host measures."""

    unit: Unit
    folder: RunFolder
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class StandingOrder:
    """An order that a host has."""

    id: str
    host: str
    work: UnitWork
    talk: Talk
    arrivals: OrderArrivals
    declined: dict[Backend, Declined] = field(default_factory=dict)
    """The backends that the host turned out not to have."""


class OrderBook:
    """Gives orders, and knows each host's conversation, graphs and references."""

    def __init__(self, heard: "Queue[Heard]") -> None:
        self._heard = heard
        self._sent: dict[str, set[Shared]] = {}
        self._idle: dict[str, Talk] = {}

    def give(
        self,
        host: str,
        reach: Reach,
        work: UnitWork,
        observer: Observer,
        options: RunOptions,
        budget_left_s: float | None,
    ) -> StandingOrder:
        """Give a host its work, in a conversation that was kept for it or in a new one."""
        folder = work.folder
        order = Order(
            id=f"{folder.run.run_id}-{secrets.token_hex(4)}",
            host=host,
            transport=reach.transport.name,
            version=folder.run.orchestrator_version,
            sources=runner_digest(),
            hardware=reach.facts.class_id,
            digests={
                backend: digest
                for backend, image in folder.run.options.images.items()
                if (digest := image.partition("@")[2])
            },
            budget_s=budget_left_s,
            whole_budget_s=options.budget_s,
            fail_fast=options.fail_fast,
        )
        plan = sub_plan(folder.run.plan, work.cells)
        options_sent = replace(folder.run.options, database=None)
        run = folder.run.model_copy(update={"plan": plan, "matrix": None, "options": options_sent})
        talk = self._idle.pop(host, None) or Talk(
            lambda: reach.transport.begin(host), host, self._heard
        )
        talk.give(order.id, self._frames(order, run, work))
        return StandingOrder(
            order.id, host, work, talk, OrderArrivals(folder, work.cells, observer)
        )

    def keep(self, standing: StandingOrder) -> None:
        """Keep the conversation of an order that has ended, for the host's next one.

        A host program that goes on need not be started again, which costs a job half a second.
        """
        self._idle[standing.host] = standing.talk

    def release(self) -> None:
        """End the conversations that were kept: those hosts are for others."""
        while self._idle:
            end_later(self._idle.popitem()[1])

    def take(self, standing: StandingOrder, shared: Shared, content: bytes) -> None:
        """Keep a graph or reference that the host has made, for all others."""
        folder = standing.work.folder
        wanted = wanted_artifacts(folder.run, standing.work.cells)
        keep_artifact(folder.path.parent, shared, content, wanted)
        self._sent.setdefault(standing.host, set()).add(shared)

    def _frames(self, order: Order, run: RunFile, work: UnitWork) -> Iterator[Frame]:
        """Yield artefacts that the host lacks, one in memory at a time, and then the order."""
        sent = self._sent.setdefault(order.host, set())
        results = work.folder.path.parent
        for shared, content in known_artifacts(results, run, work.cells, without=sent):
            yield frame_of(shared, content)
            sent.add(shared)
        yield frame_of(order, run_file_text(run).encode())


class FleetObserver(Observer, Protocol):
    """Is told about a run's progress, host by host."""

    def on_host(self, host: str) -> Observer: ...

    def order_ended(self, host: str, fault: str | None) -> None:
        """The order that this host had is over; a fault says why it was lost."""
        ...
