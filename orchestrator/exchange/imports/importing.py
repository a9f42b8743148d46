"""Import of other benchmarks' measurements, and deletion of files that the database holds."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from orchestrator.exchange.imports.document import Document, link_to, writable
from orchestrator.exchange.imports.entry import Format
from orchestrator.exchange.imports.outcome import FileOutcome, read_document
from orchestrator.exchange.imports.record import (
    LAUNCHER,
    RowContents,
    contents_by_run,
    contents_of,
    is_less_informative,
    packed_contents,
    read_contents,
    read_runs,
    records_path,
    records_table,
    same_contents,
    save_records,
    take_out,
)
from orchestrator.screen.words.records import record_words
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.query.whole_runs import imported_rows_at
from orchestrator.store.records.kept import drop_kept
from orchestrator.store.schema.sources import Run
from orchestrator.store.store import Store
from runner import __version__
from runner.contract.errors import DamagedFile

_TICK = timedelta(microseconds=1)
_DAY_S = 86400.0


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


def set_import_times(
    table: pa.Table, held: RowContents, change: RecordChanges, now: datetime
) -> pa.Table:
    """Set the time of import; unchanged rows keep theirs."""
    moments = dict.fromkeys(table["cell_id"].to_pylist(), now)
    moments |= {cell: max(now, held[cell].recorded_at + _TICK) for cell in change.changed}
    moments |= {cell: held[cell].recorded_at for cell in change.there}
    index = table.schema.get_field_index("recorded_at")
    field = table.schema.field(index)
    return table.set_column(index, field, pa.array(list(moments.values()), field.type))


@dataclass(frozen=True)
class ImportReport:
    """Effect of an import, done or previewed."""

    changes: Mapping[str, RecordChanges]
    merged: MergeReport | None

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
    with_records = [outcome for outcome in outcomes if outcome.kind == "records"]
    held, changes = _held(with_records, database), {}
    for outcome in with_records:
        read, known = _contents(outcome), held.get(outcome.run_id, {})
        kept = known if _is_known(outcome, read, known) else read
        changes[outcome.run_id] = compare_contents(known, kept)
    return ImportReport(changes, None)


def import_files(
    outcomes: Iterable[FileOutcome], results: Path, database: Path, command: str
) -> ImportReport:
    """Write the records beside ours and merge them; the next import finishes what was cut off."""
    with_records = [outcome for outcome in outcomes if outcome.kind == "records"]
    if not with_records:
        return ImportReport({}, MergeReport())
    now = datetime.now(UTC)
    with Store.open(database) as store:
        held = contents_by_run(store.imported([outcome.run_id for outcome in with_records]))
        packed = packed_contents(results)
        changes = {}
        for outcome in with_records:
            run_id, run = outcome.run_id, _run(outcome, now, command)
            changes[run_id] = _write(
                outcome, held.get(run_id, {}), packed.get(run_id), results, run
            )
        changing = [run_id for run_id, change in changes.items() if not change.is_none]
        store.forget(
            [f"{run_id}/{cell}" for run_id, change in changes.items() for cell in change.gone]
        )
        drop_kept(database, changing)
        files = [records_path(results, run_id) for run_id in changing]
        return ImportReport(changes, store.merge(files, *read_runs(files), words=record_words))


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
    # A merge replaces rows by newer ones alone.
    if (
        stored is None
        or not same_contents(stored, read)
        or any(stored[cell].recorded_at <= held[cell].recorded_at for cell in change.changed)
    ):
        take_out(results, outcome.run_id)  # else rows that are gone would come back from there
        save_records(set_import_times(table, held, change, now), path, run)
    return change


def _is_known(outcome: FileOutcome, read: RowContents, known: RowContents) -> bool:
    """True if the content was imported under another name that says as much or more of it."""
    return not outcome.reading.beside and is_less_informative(read, known)


def _held(outcomes: Iterable[FileOutcome], database: Path) -> Mapping[str, RowContents]:
    run_ids = list({outcome.run_id for outcome in outcomes if outcome.reading.measurements})
    table = imported_rows_at(database, run_ids)
    return {} if table is None else contents_by_run(table)


def _contents(outcome: FileOutcome) -> RowContents:
    return contents_of(records_table(outcome, datetime.now(UTC)))


@dataclass(frozen=True)
class Removal:
    """Deletion of one file, or the reason why it was kept."""

    path: Path
    kept: str | None = None
    """Reason why it is still there; None if it was deleted, or would be."""


def remove_sources(
    outcomes: Sequence[FileOutcome],
    database: Path | None,
    *,
    roots: Sequence[Path],
    formats: Sequence[Format],
    older_than_s: float | None = None,
) -> Iterator[Removal]:
    """Delete each file whose every record the database holds; yields the result for each.

    Just before it goes, a file and its records are compared with the database once more. Without a
    database nothing is deleted. `roots` are the paths that the user named.
    """
    held = {} if database is None else _held(outcomes, database)
    for outcome in outcomes:
        reason = _reason_to_keep(outcome, roots, older_than_s)
        if reason is None and database is not None:
            reason = _delete(outcome, formats, held.get(outcome.run_id, {}))
        yield Removal(outcome.path, reason)


def _reason_to_keep(
    outcome: FileOutcome, roots: Sequence[Path], older_than_s: float | None
) -> str | None:
    """Reason why the file stays, whatever the database holds."""
    if not outcome.reading.measurements:
        return "none of its content is in the database"
    if faults := len(outcome.reading.faults):
        return f"{faults} of its entries could not be read, and are in no database"
    if link := link_to(outcome.path, roots):
        return f"{link} is a link, and links are not followed to delete"
    try:
        age_s = time.time() - outcome.path.stat().st_mtime
    except OSError as error:
        return f"cannot be looked at: {error.strerror or error}"
    if older_than_s is not None and age_s < older_than_s:
        return f"it was changed within the last {older_than_s / _DAY_S:g} days"
    return None


def _delete(outcome: FileOutcome, formats: Sequence[Format], held: RowContents) -> str | None:
    try:
        before = _state(outcome.path)
        reason = _unverified(outcome, read_document(Document.read(outcome.path), formats), held)
        if reason is None and _state(outcome.path) != before:
            reason = "it has changed since it was imported"
        if reason is None:
            outcome.path.unlink()
    except (OSError, DamagedFile) as error:
        return f"cannot be deleted: {getattr(error, 'strerror', None) or error}"
    return reason


def _unverified(outcome: FileOutcome, again: FileOutcome, held: RowContents) -> str | None:
    if again.sha256 != outcome.sha256:
        return "it has changed since it was imported"
    if again.run_id != outcome.run_id or again.reading != outcome.reading:
        return "what lies beside it has changed since it was imported"
    change = compare_contents(held, _contents(again))
    count = len(change.new) + len(change.changed) + len(change.there)
    if change.is_none:
        return None
    if len(change.there) == count:
        return "the database holds records of it that are not in it"
    return f"the database holds {len(change.there)} of its {count} records as they are"


def _state(path: Path) -> tuple[int, int, int]:
    state = os.lstat(path)
    return state.st_ino, state.st_size, state.st_mtime_ns
