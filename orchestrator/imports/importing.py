"""Brings what others measured into the database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

from orchestrator.imports.content import Contents, contents_by_run, contents_of, same, tells_less
from orchestrator.imports.document import writable
from orchestrator.imports.outcome import Verdict
from orchestrator.imports.record import LAUNCHER, contents_at, path_of, runs_of, save, table_of
from orchestrator.store import MergeReport, Run, Store, held_at
from runner import __version__

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Change:
    """Of one file's records, by cell id."""

    new: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    """Those that an earlier version of the reader read otherwise."""
    there: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()
    """Those that the database holds of the same file, and that are no longer read from it."""

    @property
    def is_none(self) -> bool:
        """Whether the database holds these records already, and no others of the file."""
        return not (self.new or self.changed or self.gone)


def change_to(held: Contents, read: Contents) -> Change:
    """What becomes of a database that holds these rows of a file once others are read from it."""
    both = held.keys() & read.keys()
    same = {cell for cell in both if held[cell].sha == read[cell].sha}
    return Change(
        new=tuple(cell for cell in read if cell not in held),
        changed=tuple(cell for cell in read if cell in both - same),
        there=tuple(cell for cell in read if cell in same),
        gone=tuple(cell for cell in held if cell not in read),
    )


def newer(stored: Contents, held: Contents, change: Change) -> bool:
    """Whether a merge of these rows would change in the database what is to change."""
    return all(stored[cell].recorded_at > held[cell].recorded_at for cell in change.changed)


def dated(table: pa.Table, held: Contents, change: Change, now: datetime) -> pa.Table:
    """The rows with the time of their import: what did not change since keeps its own."""
    there = frozenset(change.there)

    def moment(cell: str) -> datetime:
        if cell in there:
            return held[cell].recorded_at
        return max(now, held[cell].recorded_at + _TICK) if cell in held else now

    place = table.schema.get_field_index("recorded_at")
    moments = [moment(cell) for cell in table["cell_id"].to_pylist()]
    column = pa.array(moments, table.schema.field(place).type)
    return table.set_column(place, table.schema.field(place), column)


@dataclass(frozen=True)
class Import:
    """What an import did, or would do."""

    changes: Mapping[str, Change]
    """By run id, of each file with records."""
    merged: MergeReport | None
    """What the database took; None for a dry run."""

    @property
    def added(self) -> int:
        """Records that the database did not hold."""
        return self._count("new") if self.merged is None else self.merged.inserted

    @property
    def replaced(self) -> int:
        """Records that it held otherwise."""
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
        """Records that stayed out, since `validate --fix` had taken them out of the database."""
        return 0 if self.merged is None else self.merged.quarantined

    def _count(self, name: str) -> int:
        return sum(len(getattr(change, name)) for change in self.changes.values())


def foresee(verdicts: Iterable[Verdict], database: Path) -> Import:
    """What `bring` would do; writes nothing, and makes no database where there is none.

    Raises:
        StoreError: the database is in use, or not ours.
    """
    with_records, now = _with_records(verdicts), datetime.now(UTC)
    run_ids = [verdict.run_id for verdict in with_records]
    table = held_at(database, run_ids)
    held = {} if table is None else contents_by_run(table)
    changes = {}
    for each in with_records:
        read, known = contents_of(table_of(each, now)), held.get(each.run_id, {})
        changes[each.run_id] = change_to(known, known if _is_known(each, read, known) else read)
    return Import(changes, None)


def bring(verdicts: Iterable[Verdict], results: Path, database: Path, command: str) -> Import:
    """Write the records beside ours, and merge them; importing twice adds nothing.

    The records are on disk before the database hears of them, so what is interrupted is finished
    by the next import.

    Raises:
        StoreError: the results folder or the database cannot be written.
    """
    with_records, now = _with_records(verdicts), datetime.now(UTC)
    if not with_records:
        return Import({}, MergeReport())
    with Store.open(database) as store:
        held = contents_by_run(store.imported([verdict.run_id for verdict in with_records]))
        changes = {
            verdict.run_id: _write(
                verdict, held.get(verdict.run_id, {}), results, _run(verdict, now, command)
            )
            for verdict in with_records
        }
        changing = [each for each in with_records if not changes[each.run_id].is_none]
        store.forget(
            [f"{run_id}/{cell}" for run_id, change in changes.items() for cell in change.gone]
        )
        files = [path_of(results, verdict.run_id) for verdict in changing]
        return Import(changes, store.merge(files, *runs_of(files)))


def _with_records(verdicts: Iterable[Verdict]) -> Sequence[Verdict]:
    return [verdict for verdict in verdicts if verdict.kind == "records"]


def _write(verdict: Verdict, held: Contents, results: Path, run: Run) -> Change:
    """Write a file's records, unless they lie there already."""
    now = run.started_at
    table, path = table_of(verdict, now), path_of(results, verdict.run_id)
    stored = contents_at(path)
    if not held and stored is None:
        save(table, path, run)
        return Change(new=tuple(table["cell_id"].to_pylist()))
    read, known = contents_of(table), held or stored or {}
    if _is_known(verdict, read, known):
        return change_to(held, known)
    change = change_to(held, read)
    if stored is None or not same(stored, read) or not newer(stored, held, change):
        save(dated(table, held, change, now), path, run)
    return change


def _is_known(verdict: Verdict, read: Contents, known: Contents) -> bool:
    """Whether the content was imported under another name, which told as much or more of it."""
    return not verdict.reading.beside and tells_less(read, known)


def _run(verdict: Verdict, now: datetime, command: str) -> Run:
    return Run(
        run_id=verdict.run_id,
        started_at=now,
        finished_at=now,
        matrix_path=writable(str(verdict.path)),
        command=writable(command),
        launchers=(LAUNCHER,),
        planned=len(verdict.reading.found),
        orchestrator_version=__version__,
    )
