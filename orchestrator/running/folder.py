"""A run's folder: its plan, its jobs, the records they left. Enough to resume it.

results/<run_id>/run.json                                    what was planned
results/<run_id>/jobs/<job_id>.<attempt>.json                what a container was given
results/<run_id>/records/<job_id>/<cell_id>.parquet          what it gave back
results/<run_id>/records/compact-<columns>.parquet           all that, once `database compact` ran
results/<run_id>/records/<job_id>/<cell_id>.round<r>.json    what a round before the last one gave
results/<run_id>/records/<job_id>/<cell_id>.trace.json       a trace, if one was asked for
results/<run_id>/records/<job_id>/<cell_id>.operators.txt    its heaviest operators
results/<run_id>/records/<job_id>/<cell_id>.trace.failed     why there is no trace
results/<run_id>/records/<job_id>/<cell_id>.log              the traceback of a failure
results/<run_id>/refused/<job_id>.<…>/                       what else its launches left: never read
results/<run_id>/logs/<job_id>.<attempt>.log                 the end of a launch's stderr
results/references/<key>.npz                                 what outputs are verified against
results/graphs/<key>/<shape>/                                a prepared graph
results/counts/<key>.json                                   the counted work of a model
results/calibration.json                                     what fresh processes differ by here
results/preparations/<run_id>/                               jobs and logs of what fills those
"""

import os
import shlex
from collections import defaultdict
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from orchestrator.running.job_files import JobFiles, false_claim
from orchestrator.running.record_files import CompactedRecords, RoundFiles, aside_of, set_aside
from orchestrator.running.run_file import (
    RUN_FILE,
    RunFile,
    read_run_file,
    run_file_text,
    run_folders,
)
from orchestrator.store.merge.expected import ExpectedCell, ExpectedRecords, claim_fault
from orchestrator.store.query.runs import run_back, steps_back
from orchestrator.store.records.compact import compact_files
from orchestrator.store.records.validate import Damaged, read_record
from orchestrator.system.files import (
    DATABASE_NAME,
    REMEDY,
    RESULTS_FOLDER,
    file_hint,
    new_folder,
    remove_half_made,
    translate_os_errors,
)
from runner.contract.cell import Cell, QuestionKey
from runner.contract.errors import DamagedFile, RecordError, StoreError, UsageError
from runner.contract.files import remove_unfinished, write_atomic
from runner.contract.job import Job, Provenance
from runner.contract.reasons import reason
from runner.contract.record.files import save_record
from runner.contract.record.quality import Outcome
from runner.contract.record.record import Record
from runner.contract.record.verdict import RETRIED, Status
from runner.contract.rounds import RECORD_SUFFIX, output_path

_SUBFOLDERS = ("records", "jobs", "logs")


class RunFolder:
    """Reads and writes one run's folder. Every file appears whole or not at all."""

    def __init__(self, path: Path, run: RunFile) -> None:
        self.path = path
        self.run = run
        self.rounds = RoundFiles(self.records, run.most_results)
        self.damaged: dict[Path, Damaged] = {}
        """The records that were set aside since it was opened, by the path that they had."""
        self._compact = CompactedRecords(self.records, run.run_id)
        self.job_files = JobFiles(path / "jobs")

    @classmethod
    def create(cls, results: Path, run: RunFile, name: str | None = None) -> "RunFolder":
        """Make the folder of a new run, with the run's id for a name unless another is given.

        Raises:
            UsageError: its plan is too large.
            StoreError: the results folder cannot be written.
        """
        path, text = results / (name or run.run_id), run_file_text(run)
        try:
            remove_half_made(results)
            with new_folder(path) as unfinished:
                for subfolder in _SUBFOLDERS:
                    (unfinished / subfolder).mkdir()
                write_atomic(unfinished / RUN_FILE, text)
        except OSError as error:
            raise StoreError(
                f"{path}: the run's folder cannot be made: {error.strerror}",
                hint=file_hint(error, f"{REMEDY} with --results"),
            ) from error
        return cls(path, run)

    @classmethod
    def open(cls, results: Path, run_id: str) -> "RunFolder":
        """The folder of an earlier run; `last` means the newest, `last~1` the one before it.

        Raises:
            UsageError: there is no such run.
            StoreError: its run.json is damaged.
        """
        runs = [path.name for path in run_folders(results)]
        back = steps_back(run_id)
        name = run_id if back is None or not runs else run_back(run_id, runs[::-1], back)
        if name not in runs:
            known = f"the newest are {', '.join(runs[:-4:-1])}" if runs else "there is none yet"
            raise UsageError(f"--resume: {run_id!r} is not a run in {results}", hint=known)
        path = results / name
        try:
            run = read_run_file(path / RUN_FILE)
        except DamagedFile as damaged:
            raise StoreError(
                f"{path / RUN_FILE}: {damaged}",
                hint="its records can still be merged: `orchestrator merge` takes the run's folder",
            ) from damaged
        for name in _SUBFOLDERS:
            with translate_os_errors(path / name):
                (path / name).mkdir(exist_ok=True)
        return cls(path, run)

    @property
    def elsewhere(self) -> str:
        """The option that names the folder of all runs, where it is not the usual one."""
        results = self.path.parent
        return "" if results == RESULTS_FOLDER else f" --results {shlex.quote(str(results))}"

    def remove_unfinished(self) -> None:
        """Remove the temporary files that a killed orchestrator or runner has left."""
        for name in _SUBFOLDERS:
            for folder in (self.path / name, *(self.path / name).glob("*/")):
                remove_unfinished(folder)

    @property
    def records(self) -> Path:
        return self.path / "records"

    @property
    def database(self) -> Path:
        return Path(self.run.options.database or self.path.parent / DATABASE_NAME)

    @property
    def cells(self) -> list[Cell]:
        return [entry.cell for entry in self.run.plan.entries]

    @cached_property
    def jobs(self) -> Mapping[str, Sequence[Cell]]:
        jobs: dict[str, list[Cell]] = defaultdict(list)
        for cell in self.cells:
            jobs[cell.job_id].append(cell)
        return jobs

    def out(self, job_id: str) -> Path:
        path = self.records / job_id
        with translate_os_errors(path):
            path.mkdir(exist_ok=True)
        return path

    def write_log(self, job_file: Path, text: str) -> None:
        path = self.path / "logs" / f"{job_file.stem}.log"
        with translate_os_errors(path):
            write_atomic(path, text)

    def save(self, record: Record) -> None:
        """Save a verdict that the runner could not give itself."""
        save_record(record, self.out(record.job_id))

    def record_of(self, cell: Cell, launched: Job | None = None) -> Record | None:
        """The cell's record, or None; what is none of this cell is set aside under another name.

        `launched` is the job that alone can have made it; None for any of those of its attempts.
        """
        path = self.file_of(cell)
        if not os.path.lexists(path):
            return self._compact.record(cell)
        try:
            return self._read(cell, launched)
        except (RecordError, DamagedFile) as error:
            self.damaged[path] = Damaged(set_aside(path) or path, str(error))
            return None

    def _read(self, cell: Cell, launched: Job | None = None) -> Record:
        """The record in the cell's own file; an error says why it cannot be used."""
        path = self.file_of(cell)
        with translate_os_errors(path, "cannot be read"):
            record = read_record(path)
        fault = claim_fault(record, self.run.run_id, cell)
        jobs = [launched] if launched else self._jobs_behind(record, cell)
        if fault := fault or false_claim(record, cell, jobs):
            raise RecordError(fault)
        return record

    def _jobs_behind(self, record: Record, cell: Cell) -> Sequence[Job]:
        """The jobs that may have made the record; none if that is not known.

        The host's own verdict on a cell comes from no launch, and is never that all is well.
        """
        launched = self.job_files.launched(cell.job_id)
        own = [self.run.job([cell], self.nowhere)] if record.status != "ok" else []
        return [*launched, *own] if launched else []

    def file_of(self, cell: Cell) -> Path:
        return output_path(self.records / cell.job_id, cell, RECORD_SUFFIX)

    def due(self, cells: Iterable[Cell], round_: int, launched: Job | None = None) -> list[Cell]:
        """The cells that this round still has to visit: no record, no sound result of the round.

        `launched` is the job that has just ended, if these cells were due before: their records
        must be its own, or an image could say that an earlier attempt's had made them.
        """
        return [
            cell
            for cell in cells
            if self.record_of(cell, launched) is None and not self.rounds.has(cell, round_)
        ]

    @property
    def expected(self) -> ExpectedRecords:
        """The records that a merge of this run may take, and the files of their cells."""
        cells = {self.file_of(cell).absolute(): ExpectedCell.of(cell) for cell in self.cells}
        return ExpectedRecords(self.run.run_id, cells)

    @property
    def files(self) -> list[Path]:
        """The record files of the planned cells, and those of many; whoever opens them checks."""
        own = [path for cell in self.cells if os.path.lexists(path := self.file_of(cell))]
        return [*own, *compact_files(self.records)]

    def unsound(self, cell_ids: Container[str]) -> dict[Path, str]:
        """The files of these cells that are not their sound records, each with the reason."""
        faults = (
            (self.file_of(cell), self._fault(cell)) for cell in self.cells if cell.id in cell_ids
        )
        return {path: fault for path, fault in faults if fault is not None}

    def _fault(self, cell: Cell) -> str | None:
        path = self.file_of(cell)
        if not os.path.lexists(path):  # a merge may have been killed once it was set aside
            is_gone = os.path.lexists(aside_of(path)) and self._compact.record(cell) is None
            return "no sound record of its cell" if is_gone else None
        try:
            self._read(cell)
        except (RecordError, DamagedFile) as error:
            return str(error)
        return None

    def set_aside(self, damaged: Iterable[Path]) -> tuple[Mapping[Path, Path], Sequence[Path]]:
        """Rename those of these files that are this run's; cells without another are `lost`.

        Returns the new paths by the old ones, and the records of lost cells. What cannot be renamed
        stays as it is.
        """
        named = {path.absolute() for path in damaged}
        compact = self._compact.set_aside(named)
        moved, lost = dict(compact), list[Path]()
        for cell in self.cells:
            path = self.file_of(cell).absolute()
            if path in named and (aside := set_aside(path)):
                moved[path] = aside
            if (compact or path in moved) and self.record_of(cell) is None:
                where = moved.get(path) or next(iter(compact.values()))
                outcome = Outcome.because("lost", reason("record_damaged", file=where.name))
                # As old as the run, so that a verdict the database has already outweighs it.
                when, job = self.run.started_at, self.run.job([cell], self.nowhere)
                with suppress(StoreError):  # the merge reports the cells without a verdict
                    self.save(Record.of(job, cell, outcome, {"recorded_at": when}))
                    lost.append(path)
        return moved, lost

    @property
    def nowhere(self) -> Provenance:
        """The provenance of a verdict that was given without launching anything."""
        return Provenance(
            launcher=self.run.launcher,
            hostname=self.run.hostname,
            git_commit=self.run.git_commit,
            orchestrator_version=self.run.orchestrator_version,
        )

    def verdicts(self) -> dict[str, Status]:
        return {cell_id: record.status for cell_id, record in self.sound_records().items()}

    def unfinished(self) -> list[Cell]:
        """The cells without a sound record or with a verdict that is to be retried.

        With them come those that are measured side by side with them.
        """
        return self._unfinished(self.verdicts())

    def _unfinished(self, verdicts: Mapping[str, Status]) -> list[Cell]:
        due = {cell for cell in self.cells if verdicts.get(cell.id) in (None, *RETRIED)}
        due.update(self.beside(due))
        return [cell for cell in self.cells if cell in due]

    def beside(self, due: Collection[Cell]) -> list[Cell]:
        """Other cells with a result that was measured side by side with these."""
        compared = {*filter(None, map(self._comparison, due))}
        others = [cell for cell in self.cells if compared and self._comparison(cell) in compared]
        records = {cell: self.record_of(cell) for cell in others if cell not in due}
        return [cell for cell, record in records.items() if record and record.status == "ok"]

    def _comparison(self, cell: Cell) -> tuple[str, QuestionKey] | None:
        group = self.run.plan.group_of.get(cell.job_id)
        return (group.name, cell.question) if group else None

    def forget_retried(self) -> None:
        """Drop the verdicts of cells that are unfinished, so that they are due again."""
        verdicts = self.verdicts()
        self.forget([cell for cell in self._unfinished(verdicts) if cell.id in verdicts])

    def forget(self, cells: Collection[Cell]) -> None:
        """Remove the records of these cells, so that they are due again; results of rounds stay."""
        if cells:
            self._compact.unpack(self.cells)
        for path in map(self.file_of, cells):
            with translate_os_errors(path, "cannot be removed"):
                path.unlink()

    def sound_records(self) -> dict[str, Record]:
        records = ((cell.id, self.record_of(cell)) for cell in self.cells)
        return {cell_id: record for cell_id, record in records if record is not None}
