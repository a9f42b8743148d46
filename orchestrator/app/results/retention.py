"""Selection of runs to delete: by id, by age, or all but the newest N."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from orchestrator.imports.record import records_path
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import RUN_FILE
from orchestrator.store import DatedRun, dated_runs
from runner.contract.errors import StoreError, UsageError


@dataclass(frozen=True)
class RetentionPolicy:
    """Conditions for the deletion of runs; imports are deleted only where they are named."""

    older_than_s: float | None = None
    """Delete runs that began longer ago, seconds."""
    keep: int | None = None
    """Delete all but so many, the newest."""
    named: Sequence[str] = ()
    """Delete the runs with these ids."""

    @property
    def deletes(self) -> bool:
        """True if there is a condition at all."""
        return self.older_than_s is not None or self.keep is not None or bool(self.named)


@dataclass(frozen=True)
class RunToDelete:
    """A run that fulfils a condition."""

    run_id: str
    started_at: datetime
    verdicts: int
    """Its verdicts in the database."""
    path: Path | None
    """Its folder, or the file of an import; None if there is none here."""
    size_bytes: int
    """Bytes of its files."""


def runs_to_delete(
    results: Path, database: Path, policy: RetentionPolicy, now: datetime | None = None
) -> list[RunToDelete]:
    """The runs of database and folder that fulfil a condition, the newest first.

    Raises:
        UsageError: a run that is named is in neither.
        StoreError: the database cannot be read.
    """
    known = {run.run_id: run for run in _runs_on_disk(results)}
    known |= {run.run_id: run for run in dated_runs(database)}
    if unknown := set(policy.named) - known.keys():
        raise UsageError(
            f"--drop: {min(unknown)!r} is not a run in {database} or {results}",
            hint="`orchestrator status` lists them",
        )
    runs = sorted(known.values(), key=lambda run: (run.started_at, run.run_id), reverse=True)
    ours = [run for run in runs if not run.imported]
    chosen = {*policy.named}
    if policy.keep is not None:
        chosen |= {run.run_id for run in ours[policy.keep :]}
    if policy.older_than_s is not None:
        limit = (now or datetime.now(UTC)) - timedelta(seconds=policy.older_than_s)
        chosen |= {run.run_id for run in ours if run.started_at < limit}
    return [_run_to_delete(run, results) for run in runs if run.run_id in chosen]


def run_folders(results: Path) -> list[Path]:
    """The folders of all runs."""
    return sorted(path.parent for path in results.glob(f"[!.]*/{RUN_FILE}"))


def _runs_on_disk(results: Path) -> Iterator[DatedRun]:
    for path in run_folders(results):
        try:
            run = RunFolder.open(results, path.name).run
        except StoreError:
            continue
        yield DatedRun(run.run_id, run.started_at, 0, imported=False)


def _run_to_delete(run: DatedRun, results: Path) -> RunToDelete:
    path = _path_of_run(run.run_id, results)
    return RunToDelete(run.run_id, run.started_at, run.verdicts, path, _size(path) if path else 0)


def _path_of_run(run_id: str, results: Path) -> Path | None:
    """The folder or file of its records. Names of imported runs must lead to nothing else."""
    if Path(run_id).name != run_id or run_id.startswith("."):
        return None
    folder, imported = results / run_id, records_path(results, run_id)
    if (folder / RUN_FILE).is_file():
        return folder
    return imported if imported.is_file() else None


def _size(path: Path) -> int:
    paths = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in paths if file.is_file())
