"""Merge one run's folder into one database."""

from collections.abc import Callable, Container, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestrator.running.folder import RunFolder
from orchestrator.running.record_files import COMPACT_BYTES, find_strays
from orchestrator.screen.words.records import record_words
from orchestrator.store.merge.expected import ExpectedCell, ExpectedRecords
from orchestrator.store.merge.report import MergeReport, MissingVerdicts
from orchestrator.store.records.compact import compact_files
from orchestrator.store.records.validate import Damaged
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner.contract.files import plain_fault
from runner.contract.record.verdict import RETRIED


def merge_run(
    folder: RunFolder, database: Path, then: Callable[[Store], None] | None = None
) -> MergeReport:
    """Merge a run's records, and what is known of the run, into the database.

    A damaged record is set aside and its cell is `lost`, so that each planned cell keeps exactly
    one verdict. `then` may ask the database before it is closed, as opening it anew takes longer.

    Raises:
        StoreError: the database cannot be written; the records stay where they are.
    """
    with Store.open(database, scratch=folder.run.options.scratch) as store:
        merged = merge_folder(folder, store)
        if then is not None:
            then(store)
        return merged


def merge_folder(folder: RunFolder, store: Store, *, elsewhere: bool = False) -> MergeReport:
    """Merge a run's records into an open database; see `merge_run` for damaged ones.

    A folder from elsewhere describes no run anew that is here, and replaces no measurement; what is
    taken of it is kept beside the database.

    The database is given the files of planned cells alone, and takes the records of these cells
    alone. In the end its verdicts are counted against the plan.
    """
    run, expected = _run_row(folder), folder.expected
    if elsewhere and (stored := store.described_runs().get(run.run_id)) and stored.described:
        run = stored.unfinished
    files, faults = openable_files(folder.files)
    merge = partial(
        store.merge, words=record_words, expected=expected, elsewhere=elsewhere, keep=elsewhere
    )
    merged = merge(files, run)
    others = tuple(file for file in merged.damaged if file.other_schema)
    reasons = {file.path: file.reason for file in merged.damaged if file not in others} | faults
    without = {cell.id for cell in folder.cells} - store.verdicts(run.run_id).keys()
    reasons |= folder.unsound(without)
    strays = tuple(find_strays(folder.records, map(folder.file_of, folder.cells)))
    if reasons:
        moved, lost = folder.set_aside(reasons)
        damaged = (
            Damaged(moved[path], f"{reason}; it was set aside")
            if path in moved
            else Damaged(path, reason)
            for path, reason in reasons.items()
        )
        merged = replace(merged, damaged=(*others, *damaged))
        merged += merge(lost, run)
    earlier = _set_aside_before(folder, reasons, store)
    missing = _missing(folder, merged, store) if without or reasons else ()
    return replace(merged, damaged=(*merged.damaged, *earlier, *strays), missing=missing)


def merge_untouched(folder: RunFolder, store: Store) -> MergeReport:
    """Merge a run's records and change nothing in its folder: what is damaged stays where it is."""
    files, faults = openable_files(folder.files)
    merged = store.merge(
        files, _run_row(folder), words=record_words, expected=folder.expected, elsewhere=True
    )
    damaged = tuple(Damaged(path, reason) for path, reason in faults.items())
    return replace(merged, damaged=(*merged.damaged, *damaged))


def _set_aside_before(
    folder: RunFolder, reported: Container[Path], store: Store
) -> Iterator[Damaged]:
    """The records and results of rounds that the run set aside, of cells not measured again."""
    parts = folder.rounds.damaged
    verdicts = store.verdicts(folder.run.run_id) if folder.damaged or parts else {}
    for cell in folder.cells:
        damaged = folder.damaged.get(path := folder.file_of(cell)) or parts.get(cell.id)
        if damaged and path not in reported and verdicts.get(cell.id) in (None, *RETRIED):
            yield replace(damaged, reason=f"{damaged.reason}; it was set aside")


def merge_without_plan(path: Path, store: Store, *, keep: bool) -> MergeReport:
    """Merge the records of a run whose plan cannot be read; `keep` is as in `Store.merge`.

    A record counts if its ids are those that the names of its file and folders say: run, job,
    cell.
    """
    records = path / "records"
    files = sorted(records.glob("*/*.parquet"))
    cells = {file: ExpectedCell(file.parent.name, file.stem) for file in files}
    expected = ExpectedRecords(path.name, cells, planned=False)
    plain, faults = openable_files([*cells, *compact_files(records)])
    unreadable = tuple(Damaged(file, reason) for file, reason in faults.items())
    strays = tuple(find_strays(records, cells))
    merged = store.merge(plain, words=record_words, expected=expected, elsewhere=True, keep=keep)
    return replace(merged, damaged=(*merged.damaged, *unreadable, *strays))


def openable_files(
    files: Iterable[Path], most_bytes: int = COMPACT_BYTES
) -> tuple[list[Path], dict[Path, str]]:
    """Those of these paths that are plain files, and the reasons against the others."""
    plain, faults = list[Path](), dict[Path, str]()
    for path in files:
        with suppress(FileNotFoundError):
            if fault := plain_fault(path, most_bytes):
                faults[path] = fault
            else:
                plain.append(path)
    return plain, faults


def _missing(folder: RunFolder, merged: MergeReport, store: Store) -> tuple[MissingVerdicts, ...]:
    """The planned cells that have no verdict, nor one that was refused or is in quarantine."""
    run_id = folder.run.run_id
    ended = store.ended(run_id) | {name.removeprefix(f"{run_id}/") for name in merged.refused}
    cells = tuple(cell.id for cell in folder.cells if cell.id not in ended)
    return (MissingVerdicts(run_id, len(folder.cells), cells),) if cells else ()


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
        labels=dict(run.options.label or ()) or None,
        group_id=run.group_id,
    )
