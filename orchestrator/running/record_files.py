"""Files in a run's folder: jobs and what records claim of them, rounds, compacted records."""

import json
import os
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import count, islice
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from orchestrator.running.run_file import RUN_BYTES
from orchestrator.store.merge.expected import claim_fault, fault_of_claim
from orchestrator.store.records.compact import compact_files
from orchestrator.store.records.find import files_below
from orchestrator.store.records.validate import Damaged, file_fault
from orchestrator.system.files import translate_os_errors
from orchestrator.system.parquet import UNREADABLE, read_table
from runner.contract.axes import Backend
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile, RecordError
from runner.contract.files import atomic_file, read_plain, write_atomic
from runner.contract.job import Job, Measure, Provenance
from runner.contract.models import ModelSpec
from runner.contract.record.files import record_of, rows, write_one_row
from runner.contract.record.ids import SHARED_FACTS, false_id
from runner.contract.record.record import Record, known_columns
from runner.contract.rounds import read_rounds, round_path


class JobFiles:
    """Writes the job files of one run, and knows what was launched."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: defaultdict[str, list[Job | None]] = defaultdict(list)

    def write(self, job: Job) -> Path:
        path = self._path(job.id, self._attempts(job.id) + 1)
        with translate_os_errors(path):
            write_atomic(path, job.model_dump_json())
        return path

    def last_provenance(self, job_id: str) -> Provenance | None:
        job = self._read(job_id, self._attempts(job_id))
        return None if job is None else job.provenance

    def launched(self, job_id: str) -> Sequence[Job]:
        """The jobs of all attempts; none if one of them cannot be read."""
        known = self._known[job_id]
        for attempt in range(len(known) + 1, self._attempts(job_id) + 1):
            known.append(self._read(job_id, attempt))
        return [] if None in known else [job for job in known if job is not None]

    def _read(self, job_id: str, attempt: int) -> Job | None:
        try:
            return Job.model_validate_json(read_plain(self._path(job_id, attempt), RUN_BYTES))
        except (OSError, DamagedFile, ValidationError):
            return None

    def _attempts(self, job_id: str) -> int:
        return next(
            attempt for attempt in count() if not os.path.lexists(self._path(job_id, attempt + 1))
        )

    def _path(self, job_id: str, attempt: int) -> Path:
        return self._folder / f"{job_id}.{attempt}.json"


_TEXTS = {"job", "model_spec", "model_id"}
"""Columns that are compared by what they say, since versions may say it in other words."""
_Model = TypeVar("_Model", bound=BaseModel)


def false_claim(record: Record, cell: Cell, jobs: Sequence[Job]) -> str | None:
    """The first thing that a record says and that is not so; None if there is none.

    The record must agree with one of these jobs, which may have made it. Without any, its ids alone
    are looked at.
    """
    faults = [next(_contradictions(record, cell, job), None) for job in jobs]
    if faults and None not in faults:
        return faults[0]
    return false_id(record.model_dump(mode="json", include=set(SHARED_FACTS)))


def _contradictions(record: Record, cell: Cell, job: Job) -> Iterator[str]:
    for name, value in known_columns(job, cell).items():
        claim = getattr(record, name)
        if name not in _TEXTS and claim != value and not _is_found_out(name, cell, value):
            yield fault_of_claim(name, claim, value)
    if _parsed(ModelSpec, record.model_spec) not in (None, job.model):
        yield "is not the record that was asked for: its model_spec is that of another model"
    on_device = job.on_hardware(record.hardware_id)
    known = (None, job.of_cell(cell), on_device.of_cell(cell))
    if _parsed(Job, record.job, {"model": job.model}) not in known:
        yield "is not the record that was asked for: its job, which a replay repeats, is another"


def _is_found_out(name: str, cell: Cell, value: object) -> bool:
    """True for what the runner finds out: batch size, threads, the commit of a hub's weights."""
    if name == "batch_size":
        return cell.scenario == "offline"
    return name in ("weights_revision", "threads") and value is None


def _parsed(
    model: type[_Model], text: str | None, more: Mapping[str, Any] | None = None
) -> _Model | None:
    """The value of a JSON object; None if this version does not know such values."""
    try:
        return model.model_validate({**json.loads(text or ""), **(more or {})})
    except (ValueError, TypeError, RecursionError):
        return None


_NAMED = 1_000
"""Strays that are named; a job may leave any number of them."""
DROPPED_SUFFIX = ".dropped"
DAMAGED_SUFFIX = ".damaged"
COMPACT_BYTES = 8 << 30
"""Most bytes of a compact file: those of a million records."""
_IDS = ["run_id", "job_id", "cell_id"]

_Rows = Mapping[str, Mapping[str, Any]]


class RoundFiles:
    """Results of the rounds before the last one, which lie beside a run's records."""

    def __init__(self, records: Path, measures: Mapping[Backend, Measure]) -> None:
        self._records = records
        self._measures = measures
        self.damaged: dict[str, Damaged] = {}
        """The results that were dropped or set aside since it was opened, by cell id."""

    def has(self, cell: Cell, round_: int) -> bool:
        """True if this round has visited the cell: its result is there, and the ones before it.

        If one of them is missing or damaged they are all dropped: the cell starts over. The last
        round that a cell can have leaves a record, and no result counts in its place.
        """
        folder = self._records / cell.job_id
        is_last = round_ >= self._measures[cell.backend].most_rounds
        if is_last or not os.path.lexists(round_path(folder, cell, round_)):
            return False
        try:
            read_rounds(folder, cell, round_)
        except (RecordError, DamagedFile) as error:
            self.damaged[cell.id] = Damaged(round_path(folder, cell, round_), str(error))
            self.drop([cell])
            return False
        return True

    def count(self, cell: Cell) -> int:
        """The rounds that have visited the cell, one after the other from the first."""
        most = self._measures[cell.backend].most_rounds
        return next((number for number in range(most - 1, 0, -1) if self.has(cell, number)), 0)

    def paths(self, cell: Cell, kept: int = 0) -> list[Path]:
        """The files of results that the cell may have, behind so many first rounds."""
        folder = self._records / cell.job_id
        rounds = range(kept + 1, self._measures[cell.backend].most_rounds + 1)
        return [round_path(folder, cell, number) for number in rounds]

    def drop(self, cells: Iterable[Cell], kept: int = 0) -> int:
        """Rename results of these cells behind so many first rounds; returns their number."""
        every = [path for cell in cells for path in self.paths(cell, kept)]
        paths = [*filter(os.path.lexists, every)]
        for path in paths:
            with translate_os_errors(path):
                path.replace(path.with_name(path.name + DROPPED_SUFFIX))
        return len(paths)


class CompactedRecords:
    """The compacted record files of one run; rows of other runs in them count for nothing."""

    def __init__(self, records: Path, run_id: str) -> None:
        self._records = records
        self._run_id = run_id
        self._known: dict[Path, tuple[tuple[int, ...], _Rows]] = {}

    def record(self, cell: Cell) -> Record | None:
        for path in compact_files(self._records):
            row = self._rows(path).get(cell.id)
            if row is not None:
                return self._record(row, cell)
        return None

    def _record(self, row: Mapping[str, Any], cell: Cell) -> Record | None:
        try:
            record = record_of(row)
        except ValidationError:  # a newer runner's, with words that this one does not know
            return None
        return record if claim_fault(record, self._run_id, cell) is None else None

    def unpack(self, cells: Iterable[Cell]) -> None:
        """Give each of these cells' records a file of its own; one that is there is the newer one.

        A file that holds other rows as well is kept under another name.
        """
        planned = {(self._run_id, cell.job_id, cell.id): cell for cell in cells}
        for path in compact_files(self._records):
            with translate_os_errors(path, "cannot be unpacked"):
                table = read_table(path, most_bytes=COMPACT_BYTES)
                strangers = False
                for at, row in enumerate(table.select(_IDS).to_pylist()):
                    run_id, job_id, cell_id = (str(row[name]) for name in _IDS)
                    cell = planned.get((run_id, job_id, cell_id))
                    if cell is None:
                        strangers = True
                        continue
                    folder = self._records / cell.job_id
                    folder.mkdir(exist_ok=True)
                    if not (own := folder / f"{cell.id}.parquet").exists():
                        with atomic_file(own) as file:
                            write_one_row(table.slice(at, 1), file)
                if not (strangers and set_aside(path)):
                    path.unlink()

    def set_aside(self, damaged: Container[Path]) -> dict[Path, Path]:
        moved = {}
        for path in map(Path.absolute, compact_files(self._records)):
            if path in damaged and file_fault(path) and (aside := set_aside(path)):
                moved[path] = aside
        return moved

    def _rows(self, path: Path) -> _Rows:
        with translate_os_errors(path, "cannot be read"):
            status = path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            try:
                records = self._read(path)
            except (DamagedFile, *UNREADABLE):
                set_aside(path)
                return {}
        self._known[path] = stamp, records
        return records

    def _read(self, path: Path) -> _Rows:
        table = read_table(path, most_bytes=COMPACT_BYTES)
        return {row["cell_id"]: row for row in rows(table) if row["run_id"] == self._run_id}


def set_aside(path: Path) -> Path | None:
    """Give a damaged file another name, which it may have already; None if it cannot be renamed."""
    aside = aside_of(path)
    try:
        return path.replace(aside)
    except FileNotFoundError:
        return aside if os.path.lexists(aside) else None
    except OSError:
        return None


def aside_of(path: Path) -> Path:
    return path.with_name(path.name + DAMAGED_SUFFIX)


def find_strays(records: Path, files: Iterable[Path]) -> Iterator[Damaged]:
    """Those that are neither among these files nor compact, nested ones included.

    Nothing opens, moves or merges them.
    """
    known = {*files, *compact_files(records)}
    strays = (path for path in files_below(records) if path not in known)
    return (
        Damaged(path, "is the record of no planned cell; it was left where it is")
        for path in islice(strays, _NAMED)
    )
