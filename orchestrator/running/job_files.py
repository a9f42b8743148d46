"""The files of jobs in a run's folder: what each attempt was given, and in which image."""

from pathlib import Path

from pydantic import ValidationError

from orchestrator.running.run_file import RUN_BYTES
from orchestrator.store import fault_of_claim
from orchestrator.system.files import translate_os_errors
from runner.contract.errors import DamagedFile
from runner.contract.files import write_atomic
from runner.contract.job import Job, Provenance
from runner.contract.plain_files import read_plain
from runner.contract.record import Record


class JobFiles:
    """Writes the job files of one run, and knows where its jobs were started."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._provenances: dict[str, list[Provenance]] = {}

    def write(self, job: Job) -> Path:
        """Write what the next attempt is given; returns the file."""
        path = self._path(job.id, len(self._attempts(job.id)) + 1)
        with translate_os_errors(path):
            write_atomic(path, job.model_dump_json())
        self._provenances.pop(job.id, None)
        return path

    def last_provenance(self, job_id: str) -> Provenance | None:
        """That of the job's latest attempt; None before the first one."""
        return self._read(self._path(job_id, len(self._attempts(job_id))))

    def fault(self, record: Record) -> str | None:
        """The reason why a record is of none of its job's attempts; None if it is of one.

        The runner copies these facts from the job. An image that claims to be another one would put
        its numbers under that one's name.
        """
        attempts = self._known(record.job_id)
        claim = {name: getattr(record, name) or None for name in Provenance.model_fields}
        expected: dict[str, object] = {}
        for provenance in attempts:
            expected = {name: value or None for name, value in provenance}
            if claim == expected:
                return None
        differing = (name for name in claim if attempts and claim[name] != expected[name])
        name = next(differing, None)
        return fault_of_claim(name, claim[name], expected[name]) if name else None

    def _known(self, job_id: str) -> list[Provenance]:
        """The provenance of each attempt; none of a job that was never started."""
        if job_id not in self._provenances:
            read = map(self._read, self._attempts(job_id))
            self._provenances[job_id] = list(filter(None, read))
        return self._provenances[job_id]

    def _attempts(self, job_id: str) -> list[Path]:
        return list(self._folder.glob(f"{job_id}.*.json"))

    def _path(self, job_id: str, attempt: int) -> Path:
        return self._folder / f"{job_id}.{attempt}.json"

    @staticmethod
    def _read(path: Path) -> Provenance | None:
        try:
            return Job.model_validate_json(read_plain(path, RUN_BYTES)).provenance
        except (OSError, DamagedFile, ValidationError):
            return None
