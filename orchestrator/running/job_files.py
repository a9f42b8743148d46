"""The jobs of a run as files, and what records claim of them."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from orchestrator.running.run_file import RUN_BYTES
from orchestrator.store.merge.expected import fault_of_claim
from orchestrator.system.files import translate_os_errors
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile
from runner.contract.files import read_plain, write_atomic
from runner.contract.job import Job, Provenance
from runner.contract.models import ModelSpec
from runner.contract.models.catalogue import MODEL_LABELS
from runner.contract.record.ids import SHARED_FACTS, false_id
from runner.contract.record.record import JOB_FAULTS, Record, known_columns, recorded_job

_TEXTS = {"job", "model_spec", "model_id"}
"""Columns that are compared by what they say, since versions may say it in other words."""
_Value = TypeVar("_Value")


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
    labels = {name: getattr(job.model, name) for name in MODEL_LABELS}
    if _read(ModelSpec.of_content, record.model_spec, labels) not in (None, job.model):
        yield "is not the record that was asked for: its model_spec is that of another model"
    known = (None, job.of_cell(cell), job.on_hardware(record.hardware_id).of_cell(cell))
    if _read(recorded_job, record.job, record.model_spec) not in known:
        yield "is not the record that was asked for: its job, which a replay repeats, is another"


def _is_found_out(name: str, cell: Cell, value: object) -> bool:
    """True for what the runner finds out: batch size, threads, the commit of a hub's weights."""
    if name == "batch_size":
        return cell.scenario == "offline"
    return name in ("weights_revision", "threads") and value is None


def _read(read: Callable[[str, Any], _Value], text: str | None, beside: Any) -> _Value | None:
    """The value that columns hold; None if this version does not know such values."""
    try:
        return read(text or "", beside)
    except JOB_FAULTS:
        return None
