"""Selection of what to delete: runs by id, age or number, and artifacts that nothing uses."""

import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
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
from orchestrator.store.query.runs import run_back, steps_back
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
    """Ids of runs to delete."""

    @property
    def deletes(self) -> bool:
        return self.older_than_s is not None or self.keep is not None or bool(self.named)


NOTHING = RetentionPolicy()


@dataclass(frozen=True)
class RunToDelete:
    """A run that fulfils a condition."""

    run_id: str
    started_at: datetime
    verdicts: int
    path: Path | None
    """Its folder, or the file of an import; None if there is none here."""
    size_bytes: int
    bisection: bool = False
    """True if `regress --bisect` measured it."""


def runs_to_delete(results: Path, database: Path, policy: RetentionPolicy) -> list[RunToDelete]:
    """The runs that fulfil a condition, the newest first; those of bisections last."""
    own = _known_runs(results, database)
    bisected, bisections = {}, bisections_folder(results)
    if bisections is not None:
        bisected = _known_runs(bisections, bisections / DATABASE_NAME)
    newest = sorted((run.run_id for run in own.values() if not run.imported), reverse=True)
    named = (
        run_back(name, newest, back) if newest and (back := steps_back(name)) is not None else name
        for name in policy.named
    )
    policy = replace(policy, named=[*named])
    if unknown := set(policy.named) - own.keys() - bisected.keys():
        raise UsageError(
            f"{min(unknown)!r} is not a run in {database} or {results}",
            hint="`orchestrator status` lists them",
        )
    chosen = [_run_to_delete(run, results) for run in _chosen(own.values(), policy)]
    if bisections is not None:
        others = _chosen(bisected.values(), policy)
        chosen += [replace(_run_to_delete(run, bisections), bisection=True) for run in others]
    return chosen


def bisections_folder(results: Path) -> Path | None:
    """The folder of what `regress --bisect` measured; None if it measured nothing."""
    folder = results / BISECTIONS_FOLDER
    return folder if (folder / DATABASE_NAME).is_file() else None


def _known_runs(results: Path, database: Path) -> dict[str, DatedRun]:
    known = {}
    for path in run_folders(results):
        with suppress(StoreError):
            run = RunFolder.open(results, path.name).run
            known[run.run_id] = DatedRun(run.run_id, run.started_at, 0, imported=False)
    return known | {run.run_id: run for run in dated_runs(database)}


def _chosen(runs: Iterable[DatedRun], policy: RetentionPolicy) -> list[DatedRun]:
    """The runs of one folder that fulfil a condition, the newest first."""
    runs = sorted(runs, key=lambda run: (run.started_at, run.run_id), reverse=True)
    ours = [run for run in runs if not run.imported]
    chosen = {*policy.named}
    if policy.keep is not None:
        chosen |= {run.run_id for run in ours[policy.keep :]}
    if policy.older_than_s is not None:
        limit = datetime.now(UTC) - timedelta(seconds=policy.older_than_s)
        chosen |= {run.run_id for run in ours if run.started_at < limit}
    return [run for run in runs if run.run_id in chosen]


def _run_to_delete(run: DatedRun, results: Path) -> RunToDelete:
    path = _path_of_run(run.run_id, results)
    size_bytes = tree_size(path) if path else 0
    return RunToDelete(run.run_id, run.started_at, run.verdicts, path, size_bytes)


def _path_of_run(run_id: str, results: Path) -> Path | None:
    """The folder or file of its records. Names of imported runs must lead to nothing else."""
    if Path(run_id).name != run_id or run_id.startswith("."):
        return None
    folder, imported = results / run_id, records_path(results, run_id)
    if (folder / RUN_FILE).is_file():
        return folder
    return imported if imported.is_file() else None


_KEY = r".+-[0-9a-f]{16}"
_GRAPH = re.compile(rf"({_KEY})")
_REFERENCE = re.compile(rf"\.?([0-9a-f]{{32}}|{_KEY})\.(npz|failed)(\.tmp)?")
_COUNTS = re.compile(rf"\.?({_KEY})\.json(\.tmp)?")
StaleKind = Literal["graph", "reference", "counts", "preparation"]


@dataclass(frozen=True)
class StaleFile:
    """A file or folder that no run or preparation of the present code would use."""

    kind: StaleKind
    path: Path
    size_bytes: int
    removed: bool = False


def delete_path(path: Path) -> None:
    """Delete a file, or a folder, whose depth a job may have chosen."""
    if not path.is_dir() or path.is_symlink():
        path.unlink()
        return
    remove_tree(path)
    if path.exists():
        shutil.rmtree(path)


def find_stale_files(results: Path) -> list[StaleFile]:
    """All there are; links, and files with none of our names, are left out."""
    preparations = _entries(results / PREPARATIONS_FOLDER)
    old: dict[StaleKind, Iterable[Path]] = {
        "graph": _old(results / graphs.GRAPHS_FOLDER, _GRAPH, GRAPHS),
        "reference": _old(results / references.REFERENCES_FOLDER, _REFERENCE, REFERENCES),
        "counts": _old(results / work_counts.COUNTS_FOLDER, _COUNTS, COUNTS),
        "preparation": [path for path in preparations if (path / RUN_FILE).is_file()],
    }
    return [StaleFile(kind, path, tree_size(path)) for kind, paths in old.items() for path in paths]


def remove_stale_files(
    results: Path, note: Callable[[str], None], delete: Callable[[Path], None] = delete_path
) -> list[StaleFile]:
    """Remove them while nobody makes or reads any; returns those that were removed."""
    with hold_artifacts("the removal of old graphs", note):
        files = find_stale_files(results)
        for file in files:
            hint = "whoever owns it can remove it"
            with translate_os_errors(file.path, "cannot be removed", hint):
                delete(file.path)
    return [replace(file, removed=True) for file in files]


def _old(folder: Path, pattern: re.Pattern[str], producer: Producer) -> Iterator[Path]:
    """Artifacts, folders of graphs or files, whose names no launcher gives any more."""
    kinds = {launcher.needs_images for launcher in LAUNCHERS.values()}
    makers = [versions_of(producer, in_images=in_images) for in_images in kinds]
    for path in _entries(folder):
        named = pattern.fullmatch(path.name)
        is_artifact = path.is_dir() if producer == GRAPHS else path.is_file()
        if named and is_artifact and not any(is_made_by(named[1], maker) for maker in makers):
            yield path


def _entries(folder: Path) -> list[Path]:
    """Files and folders directly below, without links."""
    if folder.is_symlink() or not folder.is_dir():
        return []
    return [path for path in sorted(folder.iterdir()) if not path.is_symlink()]
