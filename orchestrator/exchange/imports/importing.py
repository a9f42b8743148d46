"""Import of other benchmarks' measurements into the database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from orchestrator.exchange.imports.document import writable
from orchestrator.exchange.imports.outcome import FileOutcome
from orchestrator.exchange.imports.packed import packed_contents, read_runs, take_out
from orchestrator.exchange.imports.record import (
    LAUNCHER,
    RowContents,
    contents_by_run,
    contents_of,
    is_less_informative,
    read_contents,
    records_path,
    records_table,
    same_contents,
    save_records,
)
from orchestrator.screen.words.records import record_words
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.query.runs import imported_rows_at
from orchestrator.store.records.kept import drop_kept
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner import __version__

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class RecordChanges:
    """Changes to one file's records in the database, by cell id."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Records that an earlier version of the reader read differently."""
    there: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Records that the database holds of the same file, and that are no longer read from it."""

    @property
    def is_none(self) -> bool:
        """True if the database holds these records already, and no others of the file."""
        return not (self.new or self.changed or self.gone)


def compare_contents(held: RowContents, read: RowContents) -> RecordChanges:
    """Compare the rows of a file that the database holds with those read from it now."""
    both = held.keys() & read.keys()
    same = {cell for cell in both if held[cell].sha == read[cell].sha}
    return RecordChanges(
        new=tuple(cell for cell in read if cell not in held),
        changed=tuple(cell for cell in read if cell in both - same),
        there=tuple(cell for cell in read if cell in same),
        gone=tuple(cell for cell in held if cell not in read),
    )


def is_newer(stored: RowContents, held: RowContents, change: RecordChanges) -> bool:
    """True if a merge of the stored rows would replace those that changed."""
    return all(stored[cell].recorded_at > held[cell].recorded_at for cell in change.changed)


def set_import_times(
    table: pa.Table, held: RowContents, change: RecordChanges, now: datetime
) -> pa.Table:
    """Set the time of import; unchanged rows keep theirs."""
    there = frozenset(change.there)

    def moment(cell: str) -> datetime:
        if cell in there:
            return held[cell].recorded_at
        return max(now, held[cell].recorded_at + _TICK) if cell in held else now

    index = table.schema.get_field_index("recorded_at")
    moments = [moment(cell) for cell in table["cell_id"].to_pylist()]
    column = pa.array(moments, table.schema.field(index).type)
    return table.set_column(index, table.schema.field(index), column)


@dataclass(frozen=True)
class ImportReport:
    """Effect of an import, done or previewed."""

    changes: Mapping[str, RecordChanges]
    """By run id, of each file with records."""
    merged: MergeReport | None
    """The report of the merge; None for a dry run."""

    @property
    def added(self) -> int:
        """Records that the database did not hold."""
        return self._count("new") if self.merged is None else self.merged.inserted

    @property
    def replaced(self) -> int:
        """Records that it held with other values."""
        return self._count("changed") if self.merged is None else self.merged.replaced

    @property
    def there(self) -> int:
        """Records that it held already."""
        return self._count("there")

    @property
    def gone(self) -> int:
        """Records that it held of the same files, and that are no longer read from them."""
        return self._count("gone")

    @property
    def quarantined(self) -> int:
        """Records that stayed out, since `database check --fix` had taken them out."""
        return 0 if self.merged is None else self.merged.quarantined

    def _count(self, name: str) -> int:
        return sum(len(getattr(change, name)) for change in self.changes.values())


def preview_import(outcomes: Iterable[FileOutcome], database: Path) -> ImportReport:
    """Report what `import_files` would do, without writing or creating anything.

    Raises:
        StoreError: the database is in use, or not ours.
    """
    with_records, now = _with_records(outcomes), datetime.now(UTC)
    table = imported_rows_at(database, [outcome.run_id for outcome in with_records])
    held = {} if table is None else contents_by_run(table)
    changes = {}
    for outcome in with_records:
        read, known = contents_of(records_table(outcome, now)), held.get(outcome.run_id, {})
        kept = known if _is_known(outcome, read, known) else read
        changes[outcome.run_id] = compare_contents(known, kept)
    return ImportReport(changes, None)


def import_files(
    outcomes: Iterable[FileOutcome], results: Path, database: Path, command: str
) -> ImportReport:
    """Write the records beside ours, and merge them; importing twice adds nothing.

    The records are on disk before the merge starts, so the next import finishes an interrupted one.

    Raises:
        StoreError: the results folder or the database cannot be written.
    """
    with_records, now = _with_records(outcomes), datetime.now(UTC)
    if not with_records:
        return ImportReport({}, MergeReport())
    with Store.open(database) as store:
        held = contents_by_run(store.imported([outcome.run_id for outcome in with_records]))
        packed = packed_contents(results)
        changes = {
            run.run_id: _write(
                outcome, held.get(run.run_id, {}), packed.get(run.run_id), results, run
            )
            for outcome in with_records
            for run in [_run(outcome, now, command)]
        }
        changing = [outcome for outcome in with_records if not changes[outcome.run_id].is_none]
        store.forget(
            [f"{run_id}/{cell}" for run_id, change in changes.items() for cell in change.gone]
        )
        drop_kept(database, [outcome.run_id for outcome in changing])
        files = [records_path(results, outcome.run_id) for outcome in changing]
        return ImportReport(changes, store.merge(files, *read_runs(files), words=record_words))


def _with_records(outcomes: Iterable[FileOutcome]) -> Sequence[FileOutcome]:
    return [outcome for outcome in outcomes if outcome.kind == "records"]


def _write(
    outcome: FileOutcome, held: RowContents, packed: RowContents | None, results: Path, run: Run
) -> RecordChanges:
    """Write a file's records, unless the results folder has them already, packed or not."""
    now = run.started_at
    table, path = records_table(outcome, now), records_path(results, outcome.run_id)
    stored = read_contents(path) or packed
    if not held and stored is None:
        save_records(table, path, run)
        return RecordChanges(new=tuple(table["cell_id"].to_pylist()))
    read, known = contents_of(table), held or stored or {}
    if _is_known(outcome, read, known):
        return compare_contents(held, known)
    change = compare_contents(held, read)
    if stored is None or not same_contents(stored, read) or not is_newer(stored, held, change):
        take_out(results, outcome.run_id)  # else rows that are gone would come back from there
        save_records(set_import_times(table, held, change, now), path, run)
    return change


def _is_known(outcome: FileOutcome, read: RowContents, known: RowContents) -> bool:
    """True if the content was imported under another name that says as much or more of it."""
    return not outcome.reading.beside and is_less_informative(read, known)


def _run(outcome: FileOutcome, now: datetime, command: str) -> Run:
    return Run(
        run_id=outcome.run_id,
        started_at=now,
        finished_at=now,
        matrix_path=writable(str(outcome.path)),
        command=writable(command),
        launchers=(LAUNCHER,),
        planned=len(outcome.reading.measurements),
        orchestrator_version=__version__,
    )
