"""Executes a job until its round has visited each of its cells, whatever happens to launches."""

import shutil
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from orchestrator.images.image import REVISION_LABEL
from orchestrator.launchers.base import Launcher, Task
from orchestrator.running.folder import RunFolder
from orchestrator.running.job_files import false_claim
from orchestrator.running.launch import FollowedLaunch, Launch, LaunchProgress, quote_runner
from orchestrator.running.launch_limits import Deadline, OutputQuota, QuotaWatch, job_limit_s
from orchestrator.running.observer import Observer
from orchestrator.running.record_files import set_aside
from orchestrator.running.sweep import sweep_jobs
from orchestrator.system.files import translate_os_errors
from orchestrator.system.git import own_commit
from orchestrator.system.trees import remove_entry
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import (
    BenchError,
    DamagedFile,
    EngineUnavailable,
    ImageError,
    RecordError,
    RecordNotSaved,
    StoreError,
    Unavailable,
)
from runner.contract.files import RECORD_BYTES, read_plain, remove_unfinished, write_atomic
from runner.contract.job import Job, Provenance
from runner.contract.processes import last_line
from runner.contract.reasons import Reason, facts_behind, reason
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from runner.contract.record.verdict import RemedyCode, doubt, with_doubt
from runner.contract.rounds import TIMED_SUFFIX, output_path, raw_columns, read_rounds, round_path

_POLL_S = 0.5


class Availability:
    """The provenance of each backend's jobs, asked once; a refusal is remembered."""

    def __init__(self, launcher: Launcher, *, earlier: bool = False) -> None:
        """`earlier`: the launcher executes another version, whose commit is its own."""
        self._launcher = launcher
        self._earlier = earlier
        self._answers: dict[Backend, Provenance | BenchError] = {}

    def prepare(self, backend: Backend) -> Provenance:
        """Make sure that its jobs can be launched, and return what they will execute in.

        Raises:
            EngineUnavailable: there is no engine.
            ImageError: the image is missing and can't be made.
            Unavailable: this machine lacks what the backend needs.
        """
        if backend not in self._answers:
            self._answers[backend] = self._ask(backend)
        answer = self._answers[backend]
        if isinstance(answer, BenchError):
            raise answer
        return answer

    def give_up(self, backend: Backend, error: BenchError) -> None:
        self._answers[backend] = error

    def comes_back(self, backend: Backend, patience_s: float) -> bool:
        """Wait for an engine that went away; if it is back, all backends are made ready anew."""
        deadline = time.monotonic() + patience_s
        while isinstance(answer := self._ask(backend), BenchError):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        self._answers = {backend: answer}
        return True

    def _ask(self, backend: Backend) -> Provenance | BenchError:
        try:
            provenance = self._launcher.prepare(backend)
        except (Unavailable, ImageError, EngineUnavailable) as error:
            return error
        commit = own_commit()
        if self._earlier:
            commit = provenance.git_commit or provenance.image_labels.get(REVISION_LABEL)
        here = {"hostname": socket.gethostname(), "git_commit": commit}
        return provenance.model_copy(update=here)


@contextmanager
def keep_records(folder: RunFolder, job: Job, note: Callable[[str], None]) -> Iterator[None]:
    """Restore the records and rounds of the job's other cells, if this launch changed them."""
    others = [cell for cell in folder.jobs.get(job.id, ()) if cell not in set(job.cells)]
    results = ((folder.file_of(cell), *folder.rounds.paths(cell)) for cell in others)
    before = {path: _content(path) for paths in results for path in paths}
    try:
        yield
    finally:
        changed = [path for path, content in before.items() if _content(path) != content]
        for path in changed:
            with translate_os_errors(path):
                if set_aside(path) is None:
                    remove_entry(path)
                if (content := before[path]) is not None:
                    write_atomic(path, content)
            note(f"{path.name}: was changed by a launch without its cell, and put back")


def _content(path: Path) -> bytes | None:
    try:
        return read_plain(path, RECORD_BYTES)
    except (OSError, DamagedFile):
        return None


_FULL_BYTES = 64 << 20
"""Free bytes below which a runner is believed that says it could not save."""


@dataclass(frozen=True)
class LaunchContext:
    """Everything that a launch needs beside its job."""

    launcher: Launcher
    folder: RunFolder
    observer: Observer
    clock: Callable[[], float] = time.monotonic


class JobExecution:
    """One round of a job, which ends once it has visited each of its cells.

    When a launch dies, its victim gets a verdict and the rest is launched again. Every launch
    leaves at least one cell less to visit, so this ends.
    """

    def __init__(
        self,
        job: Job,
        context: LaunchContext,
        references: Path | None = None,
        graphs: Path | None = None,
        *,
        sharing: int = 1,
    ) -> None:
        """The folders have what other jobs have made, which the runner only reads.

        `sharing` is the number of jobs that share its time.
        """
        self._job = job
        self._context = context
        self._artifacts = references, graphs
        self._limit_s = sharing * job_limit_s(job)
        self._ends: float | None = None
        self.pending = context.folder.due(job.cells, job.round)
        """The cells that it still has to visit."""

    def execute(self) -> None:
        while self.pending:
            with self.launched() as launch:
                launch.follow()

    @contextmanager
    def launched(self) -> Iterator[FollowedLaunch]:
        """Launch what is pending; at the end of the context each cell of the launch is settled."""
        folder, observer = self._context.folder, self._context.observer
        if self._ends is None:
            self._ends = self._context.clock() + self._limit_s
        rest = self._job.model_copy(update={"cells": tuple(self.pending)})
        observer.job_started(rest)
        with keep_records(folder, rest, observer.note):
            try:
                paths = (folder.job_files.write(rest), folder.out(rest.id), *self._artifacts)
                task = Task(rest, rest.cells[0].backend, *paths)
                with launched(rest, task, self._context, self._ends) as followed:
                    yield followed
            finally:
                sweep_jobs(folder, [rest.id], observer.note)
        self._settle(rest, followed.launch)

    def _settle(self, rest: Job, launch: Launch) -> None:
        folder, observer = self._context.folder, self._context.observer
        self.pending = folder.due(self.pending, rest.round, rest)
        for cell, verdict in launch.verdicts(self.pending):
            self.pending.remove(cell)
            record = None
            if launch.phase == "verify" and verdict.status == "timeout":
                record = _without_verification(folder, rest, cell)
                if folder.rounds.has(cell, rest.round):
                    observer.cell_visited(cell, rest)
                    continue
            record = record or Record.of(rest, cell, verdict)
            folder.save(record)
            observer.cell_ended(cell, record)
        if launch.exit is None:
            raise EngineUnavailable(reason("engine_silent"))


def _without_verification(folder: RunFolder, job: Job, cell: Cell) -> Record | None:
    """Take what a cell left before its verification: a round's result, after the last a record."""
    out = folder.out(job.id)
    with translate_os_errors(out), suppress(FileNotFoundError):
        output_path(out, cell, TIMED_SUFFIX).replace(round_path(out, cell, job.round))
    return record_so_far(folder, cell, job.round, reason("verification_timeout"), "profile")


def record_so_far(
    folder: RunFolder,
    cell: Cell,
    rounds: int,
    explanation: Reason | None = None,
    remedy: RemedyCode = "raise_budget",
) -> Record | None:
    """The record of a cell's first rounds; None if there are none, or they tell of none.

    `explanation` says why there are no more, and `remedy` what helps against that. The columns are
    those that the runner found with the last of them. They are a job's claims, and count as far as
    those of a record file would.
    """
    jobs = folder.job_files.launched(cell.job_id)
    if not rounds or not jobs:
        return None
    try:
        results = read_rounds(folder.out(cell.job_id), cell, rounds)
        so_far = results[-1].so_far
        columns = {**so_far, **raw_columns(results)}
        if explanation and rounds < (requested := jobs[-1].measure.rounds):
            facts = {"requested": requested, **facts_behind("before", explanation)}
            columns |= with_doubt(so_far, doubt("few_rounds", "B", rounds, remedy, **facts))
        record = Record.of(jobs[-1], cell, Outcome(status="ok"), columns) if so_far else None
    except (RecordError, DamagedFile, ValidationError, TypeError):
        return None
    return None if record is None or false_claim(record, cell, jobs[-1:]) else record


@contextmanager
def launched(
    job: Job, task: Task, context: LaunchContext, job_ends: float
) -> Iterator[FollowedLaunch]:
    """Launch the job once; the context ends with it, and removes what it was killed at writing.

    `job_ends` is the clock's time at which the job as a whole ends.
    """
    launch, clock = Launch(job), context.clock
    try:
        with context.launcher.launch(task) as execution:
            deadline = Deadline(job, clock, job_ends)
            progress = LaunchProgress(launch, context.folder, context.observer, deadline)
            quota = QuotaWatch(task.out, OutputQuota.of(job), clock)
            yield FollowedLaunch(execution, progress, deadline, quota)
            with suppress(EngineUnavailable):
                launch.exit = execution.wait()
                context.folder.write_log(task.job_file, launch.exit.log)
    finally:
        remove_unfinished(task.out)
    _refuse_full_disk(launch, context.folder)


def launch_job(job: Job, task: Task, context: LaunchContext) -> Launch:
    """Launch the job once, and wait for its end."""
    with launched(job, task, context, context.clock() + job_limit_s(job)) as followed:
        followed.follow()
    return followed.launch


def _refuse_full_disk(launch: Launch, folder: RunFolder) -> None:
    """End the run if a disk is full, as the runner says, and as the host finds."""
    if launch.exit is None or launch.exit.code != RecordNotSaved.exit_code:
        return
    if shutil.disk_usage(folder.path).free < _FULL_BYTES:
        raise StoreError(
            f"{folder.path}: the runner could not save what it measured: "
            f"{quote_runner(last_line(launch.exit.log)) or 'the disk is full'}",
            hint="free some space, then `orchestrator run --resume last`",
        )
