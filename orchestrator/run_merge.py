"""From run folders into the database."""

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from orchestrator.bundle import is_bundle, merge_bundle, opened
from orchestrator.errors import MatrixError, StoreError
from orchestrator.imports.record_file import runs_of
from orchestrator.run_file import RUN_FILE
from orchestrator.run_folder import Aside, RunFolder
from orchestrator.store import Damaged, MergeReport, Run, Store
from orchestrator.store.merging.record_files import files_below, find_files
from orchestrator.store.reading.described import untold


def merge_run(folder: RunFolder, database: Path) -> MergeReport:
    """Merge a run's records, and what is known of the run, into the database.

    A damaged record is set aside and its cell is `lost`, so that each planned cell keeps exactly
    one verdict.

    Raises:
        StoreError: the database cannot be written; the records stay where they are.
    """
    with Store.open(database, scratch=folder.run.scratch) as store:
        return _merge(folder, store)


def merge_paths(paths: Iterable[Path], database: Path, *, scratch: bool) -> MergeReport:
    """Merge run folders, folders of run folders, bare folders of records, records and bundles.

    What `merge_run` says of damaged records holds in every run folder. All paths and bundles are
    checked before anything is merged.

    Raises:
        MatrixError: a path does not exist.
        StoreError: a bundle is not sound, or the database cannot be written.
    """
    named, total = list(paths), MergeReport()
    _require(named)
    with ExitStack() as closing:
        bundles = {path: closing.enter_context(opened(path)) for path in named if is_bundle(path)}
        for bundle in bundles.values():
            bundle.require_sound()
        store = closing.enter_context(Store.open(database, scratch=scratch))
        for path in named:
            total += (
                merge_bundle(bundles[path], store) if path in bundles else _merge_below(path, store)
            )
    return total


def _require(paths: Iterable[Path]) -> None:
    for path in paths:
        if not os.path.lexists(path):
            raise MatrixError(
                f"{path}: no such file or folder",
                hint="name Parquet files, folders of them such as results/, or bundles;"
                " nothing was merged",
            )


def _merge_below(path: Path, store: Store) -> MergeReport:
    total = MergeReport()
    runs = _run_files(path)
    for run_file in runs:
        try:
            folder = RunFolder.open(run_file.parent.parent, run_file.parent.name)
        except StoreError as error:
            unreadable = MergeReport(damaged=(Damaged(run_file, str(error)),))
            total += store.merge([run_file.parent]) + unreadable
        else:
            total += _merge(folder, store)
    within = {run_file.parent for run_file in runs}
    loose = [file for file in files_below(path.resolve()) if within.isdisjoint(file.parents)]
    files = loose if runs else find_files([path])
    return total + store.merge(files, *_imports(files, store))


def _imports(files: Sequence[Path], store: Store) -> list[Run]:
    """The imports of which the database knows less; most files are of none, so it is not asked."""
    told = runs_of(files)
    return untold(told, store.described_runs()) if told else []


def _merge(folder: RunFolder, store: Store) -> MergeReport:
    run = _facts(folder)
    merged = store.merge([folder.records], run)
    reasons = {file.path: file.reason for file in merged.damaged}
    without = {cell.id for cell in folder.cells} - store.verdicts(run.run_id).keys()
    reasons |= dict.fromkeys(folder.unsound(without), "not a whole record file")
    if not reasons:
        return merged
    aside = folder.set_aside(reasons)
    damaged = tuple(_told(path, reason, aside) for path, reason in reasons.items())
    return replace(merged, damaged=damaged) + store.merge(aside.lost, run)


def _told(path: Path, reason: str, aside: Aside) -> Damaged:
    if path not in aside.moved:
        return Damaged(path, reason)
    return Damaged(aside.moved[path], f"{reason}; it was set aside")


def _run_files(path: Path) -> list[Path]:
    path = path.resolve()  # so that `.` has a name
    return sorted([*path.glob(RUN_FILE), *path.glob(f"[!.]*/{RUN_FILE}")])


def _facts(folder: RunFolder) -> Run:
    run = folder.run
    return Run(
        run_id=run.run_id,
        started_at=run.started_at,
        matrix=run.matrix,
        matrix_path=run.matrix_path,
        command=run.command,
        launchers=(run.launcher,),
        seed=run.seed,
        planned=len(run.plan.entries),
        git_commit=run.git_commit,
        orchestrator_version=run.orchestrator_version,
        hostname=run.hostname,
    )
