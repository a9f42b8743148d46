"""Brings what others measured into the database."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.imports.change import Change, change_to, dated, newer
from orchestrator.imports.content import Contents, contents_by_run, contents_of, same, tells_less
from orchestrator.imports.document import writable
from orchestrator.imports.foreign_record import LAUNCHER, table_of
from orchestrator.imports.record_file import contents_at, path_of, runs_of, save
from orchestrator.imports.verdict import Verdict
from orchestrator.store import MergeReport, Run, Store
from orchestrator.store.file.connect import WAIT_S
from orchestrator.store.merging.imported import held_at
from runner import __version__


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
    table = held_at(database, run_ids, wait_s=WAIT_S)
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
