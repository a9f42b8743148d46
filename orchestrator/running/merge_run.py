"""Merge one run's folder into one database."""

from dataclasses import replace
from pathlib import Path

from orchestrator.running.folder import RunFolder, SetAside
from orchestrator.store import Damaged, MergeReport, Run, Store


def merge_run(folder: RunFolder, database: Path) -> MergeReport:
    """Merge a run's records, and what is known of the run, into the database.

    A damaged record is set aside and its cell is `lost`, so that each planned cell keeps exactly
    one verdict.

    Raises:
        StoreError: the database cannot be written; the records stay where they are.
    """
    with Store.open(database, scratch=folder.run.scratch) as store:
        return merge_folder(folder, store)


def merge_folder(folder: RunFolder, store: Store) -> MergeReport:
    """Merge a run's records into an open database; see `merge_run` for damaged ones."""
    run = _run_row(folder)
    merged = store.merge([folder.records], run)
    reasons = {file.path: file.reason for file in merged.damaged}
    without = {cell.id for cell in folder.cells} - store.verdicts(run.run_id).keys()
    reasons |= dict.fromkeys(folder.unsound(without), "not a whole record file")
    if not reasons:
        return merged
    aside = folder.set_aside(reasons)
    damaged = tuple(_describe_damage(path, reason, aside) for path, reason in reasons.items())
    return replace(merged, damaged=damaged) + store.merge(aside.lost, run)


def _describe_damage(path: Path, reason: str, aside: SetAside) -> Damaged:
    if path not in aside.moved:
        return Damaged(path, reason)
    return Damaged(aside.moved[path], f"{reason}; it was set aside")


def _run_row(folder: RunFolder) -> Run:
    run = folder.run
    return Run(
        run_id=run.run_id,
        started_at=run.started_at,
        matrix=run.matrix,
        matrix_path=str(run.matrix_path) if run.matrix_path else None,
        command=run.command,
        launchers=(run.launcher,),
        seed=run.seed,
        planned=len(run.plan.entries),
        git_commit=run.git_commit,
        orchestrator_version=run.orchestrator_version,
        hostname=run.hostname,
    )
