"""The job files in a run's folder: what each launch was given."""

import os
from collections import defaultdict
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from pydantic import ValidationError

from orchestrator.running.run_file import RUN_BYTES
from orchestrator.system.files import translate_os_errors
from runner.contract.errors import DamagedFile
from runner.contract.files import read_plain, write_atomic
from runner.contract.job import Job, Provenance


class JobFiles:
    """Writes the job files of one run, and knows what was launched."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: defaultdict[str, list[Job | None]] = defaultdict(list)

    def write(self, job: Job) -> Path:
        """Write what the next attempt is given; returns the file."""
        path = self._path(job.id, self._attempts(job.id) + 1)
        with translate_os_errors(path):
            write_atomic(path, job.model_dump_json())
        return path

    def last_provenance(self, job_id: str) -> Provenance | None:
        """That of the job's latest attempt; None before the first one."""
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
        """The number of the last attempt; 0 before the first one."""
        return next(
            attempt for attempt in count() if not os.path.lexists(self._path(job_id, attempt + 1))
        )

    def _path(self, job_id: str, attempt: int) -> Path:
        return self._folder / f"{job_id}.{attempt}.json"
