"""Brings what others measured into the database."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.errors import MatrixError
from orchestrator.imports import foreign_record
from orchestrator.imports.formats.base import Format
from orchestrator.imports.verdict import Verdict, judge
from orchestrator.store import MergeReport, Run, Store
from runner import __version__

FOLDER = "imports"


@dataclass(frozen=True)
class Import:
    """What an import did, or would do."""

    verdicts: tuple[Verdict, ...]
    merged: MergeReport


def files_in(paths: Iterable[Path]) -> Iterator[Path]:
    """The files under these paths, in order; hidden ones are left out.

    Raises:
        MatrixError: a path does not exist.
    """
    for path in paths:
        if path.is_dir():
            found = sorted(path.rglob("*"))
            yield from (file for file in found if file.is_file() and not file.name.startswith("."))
        elif path.exists():
            yield path
        else:
            raise MatrixError(f"{path}: no such file or folder", hint="name what is to be imported")


def judge_all(paths: Iterable[Path], formats: Sequence[Format]) -> tuple[Verdict, ...]:
    """What would become of each file."""
    return tuple(judge(path, formats) for path in files_in(paths))


def bring(verdicts: Sequence[Verdict], results: Path, database: Path, command: str) -> MergeReport:
    """Write the records beside ours, and merge them; importing twice adds nothing.

    Raises:
        StoreError: the results folder or the database cannot be written.
    """
    now, files, runs = datetime.now(UTC), [], []
    for verdict in _distinct(verdicts):
        path = results / FOLDER / f"{foreign_record.run_id(verdict)}.parquet"
        if not path.exists():
            foreign_record.save(foreign_record.rows(verdict, now), path)
        files.append(path)
        runs.append(_run(verdict, now, command))
    with Store.open(database) as store:
        return store.merge(files, *runs)


def _distinct(verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
    """Those with records; of files with the same content the first one."""
    seen: set[str] = set()
    for verdict in verdicts:
        if verdict.reading.found and verdict.sha256 not in seen:
            seen.add(verdict.sha256)
            yield verdict


def _run(verdict: Verdict, now: datetime, command: str) -> Run:
    return Run(
        run_id=foreign_record.run_id(verdict),
        started_at=now,
        finished_at=now,
        matrix_path=str(verdict.path),
        command=command,
        launchers=("import",),
        planned=len(verdict.reading.found),
        orchestrator_version=__version__,
    )
