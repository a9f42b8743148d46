"""Selection of what to delete: runs by id, age or number, and artifacts that nothing uses.

Runs of bisections lie in a folder and a database of their own, beside those of the others.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal

from orchestrator.exchange.imports.record import records_path
from orchestrator.launchers.registry import LAUNCHERS
from orchestrator.running.artifacts import graphs, references, work_counts
from orchestrator.running.artifacts.cache import hold_artifacts, versions_of
from orchestrator.running.folder import RunFolder
from orchestrator.running.run_file import (
    BISECTIONS_FOLDER,
    PREPARATIONS_FOLDER,
    RUN_FILE,
    run_folders,
)
from orchestrator.store.health.decisions import DatedRun, dated_runs
from orchestrator.system.files import DATABASE_NAME, translate_os_errors
from orchestrator.system.trees import remove_tree, tree_size
from runner.contract.artifact_keys import COUNTS, GRAPHS, REFERENCES, Producer, is_made_by
from runner.contract.errors import StoreError, UsageError


@dataclass(frozen=True)
class RetentionPolicy:
    """Conditions for the deletion of runs; imports are deleted only where they are named."""

    older_than_s: float | None = None
    """Delete runs that began longer ago, seconds."""
    keep: int | None = None
    """Delete all but so many, the newest; runs of bisections are counted apart."""
    named: Sequence[str] = ()
    """Delete the runs with these ids."""

    @property
    def deletes(self) -> bool:
        """True if there is a condition at all."""
        return self.older_than_s is not None or self.keep is not None or bool(self.named)


NOTHING = RetentionPolicy()
"""Deletes no run."""


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
    bisection: bool = False
    """True if `regress --bisect` measured it."""


def runs_to_delete(
    results: Path, database: Path, policy: RetentionPolicy, now: datetime | None = None
) -> list[RunToDelete]:
    """The runs that fulfil a condition, the newest first; those of bisections last."""
    own = _known_runs(results, database)
    bisected, bisections = {}, bisections_folder(results)
    if bisections is not None:
        bisected = _known_runs(bisections, bisections / DATABASE_NAME)
    if unknown := set(policy.named) - own.keys() - bisected.keys():
        raise UsageError(
            f"{min(unknown)!r} is not a run in {database} or {results}",
            hint="`orchestrator status` lists them",
        )
    now = now or datetime.now(UTC)
    chosen = [_run_to_delete(run, results) for run in _chosen(own.values(), policy, now)]
    if bisections is not None:
        chosen += [
            replace(_run_to_delete(run, bisections), bisection=True)
            for run in _chosen(bisected.values(), policy, now)
        ]
    return chosen


def bisections_folder(results: Path) -> Path | None:
    """The folder of what `regress --bisect` measured; None if it measured nothing."""
    folder = results / BISECTIONS_FOLDER
    return folder if (folder / DATABASE_NAME).is_file() else None


def _known_runs(results: Path, database: Path) -> dict[str, DatedRun]:
    known = {run.run_id: run for run in _runs_on_disk(results)}
    return known | {run.run_id: run for run in dated_runs(database)}


def _chosen(runs: Iterable[DatedRun], policy: RetentionPolicy, now: datetime) -> list[DatedRun]:
    """The runs of one folder that fulfil a condition, the newest first."""
    runs = sorted(runs, key=lambda run: (run.started_at, run.run_id), reverse=True)
    ours = [run for run in runs if not run.imported]
    chosen = {*policy.named}
    if policy.keep is not None:
        chosen |= {run.run_id for run in ours[policy.keep :]}
    if policy.older_than_s is not None:
        limit = now - timedelta(seconds=policy.older_than_s)
        chosen |= {run.run_id for run in ours if run.started_at < limit}
    return [run for run in runs if run.run_id in chosen]


def _runs_on_disk(results: Path) -> Iterator[DatedRun]:
    for path in run_folders(results):
        try:
            run = RunFolder.open(results, path.name).run
        except StoreError:
            continue
        yield DatedRun(run.run_id, run.started_at, 0, imported=False)


def _run_to_delete(run: DatedRun, results: Path) -> RunToDelete:
    path = _path_of_run(run.run_id, results)
    return RunToDelete(
        run.run_id, run.started_at, run.verdicts, path, tree_size(path) if path else 0
    )


def _path_of_run(run_id: str, results: Path) -> Path | None:
    """The folder or file of its records. Names of imported runs must lead to nothing else."""
    if Path(run_id).name != run_id or run_id.startswith("."):
        return None
    folder, imported = results / run_id, records_path(results, run_id)
    if (folder / RUN_FILE).is_file():
        return folder
    return imported if imported.is_file() else None


_GRAPH = re.compile(r".+-[0-9a-f]{16}")
_REFERENCE = re.compile(r"\.?([0-9a-f]{32}|.+-[0-9a-f]{16})\.(npz|failed)(\.tmp)?")

_COUNTS = re.compile(r"\.?(.+-[0-9a-f]{16})\.json(\.tmp)?")

StaleKind = Literal["graph", "reference", "counts", "preparation"]


@dataclass(frozen=True)
class StaleFile:
    """A file or folder that no run or preparation of the present code would use."""

    kind: StaleKind
    path: Path
    """A file, or a folder with all that lies in it."""
    size_bytes: int
    """Bytes of all its files."""
    removed: bool = False
    """True if it was removed, false if it is only listed."""


def _delete(path: Path) -> None:
    if path.is_dir():
        remove_tree(path)
        if path.exists():
            shutil.rmtree(path)
    else:
        path.unlink()


def find_stale_files(results: Path) -> list[StaleFile]:
    """All there are; links, and files with none of our names, are left out."""
    candidates: list[tuple[StaleKind, Iterator[Path]]] = [
        ("graph", _old_graphs(results / graphs.GRAPHS_FOLDER)),
        ("reference", _old_references(results / references.REFERENCES_FOLDER)),
        ("counts", _old_counts(results / work_counts.COUNTS_FOLDER)),
        ("preparation", _preparations(results / PREPARATIONS_FOLDER)),
    ]
    return [StaleFile(kind, path, tree_size(path)) for kind, paths in candidates for path in paths]


def remove_stale_files(
    results: Path, note: Callable[[str], None], delete: Callable[[Path], None] = _delete
) -> list[StaleFile]:
    """Remove them while nobody makes or reads any; returns those that were removed."""
    with hold_artifacts("the removal of old graphs", note):
        files = find_stale_files(results)
        for file in files:
            with translate_os_errors(
                file.path, "cannot be removed", "whoever owns it can remove it"
            ):
                delete(file.path)
    return [replace(file, removed=True) for file in files]


def _old_graphs(folder: Path) -> Iterator[Path]:
    is_current = _current(GRAPHS)
    for path in _entries(folder):
        if path.is_dir() and _GRAPH.fullmatch(path.name) and not is_current(path.name):
            yield path


def _old_references(folder: Path) -> Iterator[Path]:
    is_current = _current(REFERENCES)
    for path in _entries(folder):
        named = _REFERENCE.fullmatch(path.name)
        if path.is_file() and named and not is_current(named[1]):
            yield path


def _old_counts(folder: Path) -> Iterator[Path]:
    is_current = _current(COUNTS)
    for path in _entries(folder):
        named = _COUNTS.fullmatch(path.name)
        if path.is_file() and named and not is_current(named[1]):
            yield path


def _preparations(folder: Path) -> Iterator[Path]:
    return (path for path in _entries(folder) if (path / RUN_FILE).is_file())


def _current(producer: Producer) -> Callable[[str], bool]:
    """A test for names that the present code gives, whichever launcher launches its jobs."""
    kinds = {launcher.needs_images for launcher in LAUNCHERS.values()}
    makers = [versions_of(producer, in_images=in_images) for in_images in kinds]
    return lambda name: any(is_made_by(name, versions) for versions in makers)


def _entries(folder: Path) -> list[Path]:
    """Files and folders directly below, without links."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if not path.is_symlink()]
