"""From run folders into the database."""

from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from orchestrator.bundle import is_bundle, merge_bundle, opened
from orchestrator.errors import StoreError
from orchestrator.run_file import RUN_FILE
from orchestrator.run_folder import RunFolder
from orchestrator.store import Damaged, MergeReport, Run, Store
from orchestrator.store.merging.record_files import files_below

REASON = "not a whole record file; its cell is now lost"


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

    What `merge_run` says of damaged records holds in every run folder. All bundles are checked
    before anything is merged.

    Raises:
        StoreError: a path does not exist, a bundle is not sound, or the database cannot be written.
    """
    named, total = list(paths), MergeReport()
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
    return total + store.merge(loose if runs else [path])


def _merge(folder: RunFolder, store: Store) -> MergeReport:
    damaged = tuple(Damaged(path, REASON) for path in folder.set_damaged_aside())
    return store.merge([folder.records], _facts(folder)) + MergeReport(damaged=damaged)


def _run_files(path: Path) -> list[Path]:
    path = path.resolve()  # so that `.` has a name
    return sorted([*path.glob(RUN_FILE), *path.glob(f"[!.]*/{RUN_FILE}")])


def _facts(folder: RunFolder) -> Run:
    run = folder.run
    ended = [record.recorded_at for record in folder.sound_records().values()]
    return Run(
        run_id=run.run_id,
        started_at=run.started_at,
        finished_at=max(ended) if len(ended) == len(folder.cells) else None,
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
