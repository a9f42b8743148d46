"""Merge of run folders, records and bundles into a database."""

import os
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path

from orchestrator.bundles import is_bundle, merge_bundle, open_bundle
from orchestrator.imports.record import read_runs
from orchestrator.running.folder import RunFolder
from orchestrator.running.merge_run import merge_folder
from orchestrator.running.run_file import RUN_FILE
from orchestrator.store import (
    Damaged,
    MergeReport,
    Run,
    Store,
    files_below,
    find_files,
    undescribed_runs,
)
from runner.contract.errors import StoreError, UsageError


def merge_paths(paths: Iterable[Path], database: Path, *, scratch: bool) -> MergeReport:
    """Merge run folders, folders of run folders, bare folders of records, records and bundles.

    What `merge_run` says of damaged records holds in every run folder. All paths and bundles are
    checked before anything is merged.

    Raises:
        UsageError: a path does not exist.
        StoreError: a bundle is not sound, or the database cannot be written.
    """
    named, total = list(paths), MergeReport()
    _require(named)
    with ExitStack() as closing:
        bundles = {
            path: closing.enter_context(open_bundle(path)) for path in named if is_bundle(path)
        }
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
            raise UsageError(
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
            total += merge_folder(folder, store)
    within = {run_file.parent for run_file in runs}
    loose = [file for file in files_below(path.resolve()) if within.isdisjoint(file.parents)]
    files = loose if runs else find_files([path])
    return total + store.merge(files, *_imports(files, store))


def _imports(files: Sequence[Path], store: Store) -> list[Run]:
    """The imports of which the database knows less; most files are of none, so it is not asked."""
    runs = read_runs(files)
    return undescribed_runs(runs, store.described_runs()) if runs else []


def _run_files(path: Path) -> list[Path]:
    path = path.resolve()  # so that `.` has a name
    return sorted([*path.glob(RUN_FILE), *path.glob(f"[!.]*/{RUN_FILE}")])
