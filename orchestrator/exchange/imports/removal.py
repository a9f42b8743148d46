"""Deletion of imported files, once the database holds every record of them."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.exchange.imports.document import Document, link_to
from orchestrator.exchange.imports.entry import Format
from orchestrator.exchange.imports.importing import RecordChanges, compare_contents
from orchestrator.exchange.imports.outcome import FileOutcome, read_document
from orchestrator.exchange.imports.record import (
    RowContents,
    contents_by_run,
    contents_of,
    records_table,
)
from orchestrator.store.query.runs import imported_rows_at
from runner.contract.errors import DamagedFile

_DAY_S = 86400.0


@dataclass(frozen=True)
class Removal:
    """Deletion of one file, or the reason why it was kept."""

    path: Path
    kept: str | None = None
    """Reason why it is still there; None if it was deleted, or would be."""


@dataclass(frozen=True)
class RemovalTerms:
    """Conditions for the deletion of imported files."""

    roots: Sequence[Path]
    """The paths that the user named."""
    formats: Sequence[Format]
    """Formats in which the files were read."""
    older_than_s: float | None = None
    """Minimum age of a file since its last change, in seconds; None for no limit."""
    now: float = field(default_factory=time.time)


def remove_sources(
    outcomes: Sequence[FileOutcome], terms: RemovalTerms, database: Path
) -> Iterator[Removal]:
    """Delete each file whose every record the database holds; yields the result for each.

    Just before it goes, a file is read again: its hash must be the one that was imported, and its
    records, by count and by hash, those that the database holds of it.

    Raises:
        StoreError: the database is in use, or not ours.
    """
    held = _held(outcomes, database)
    for outcome in outcomes:
        reason = _reason_to_keep(outcome, terms)
        if reason is None:
            reason = _delete(outcome, terms, held.get(outcome.run_id, {}))
        yield Removal(outcome.path, reason)


def preview_removal(outcomes: Iterable[FileOutcome], terms: RemovalTerms) -> Iterator[Removal]:
    """Report the files that could be deleted once the database holds them."""
    for outcome in outcomes:
        yield Removal(outcome.path, _reason_to_keep(outcome, terms))


def _held(outcomes: Iterable[FileOutcome], database: Path) -> Mapping[str, RowContents]:
    run_ids = list({outcome.run_id for outcome in outcomes if outcome.reading.measurements})
    table = imported_rows_at(database, run_ids)
    return {} if table is None else contents_by_run(table)


def _reason_to_keep(outcome: FileOutcome, terms: RemovalTerms) -> str | None:
    """Reason why the file stays, whatever the database holds."""
    if not outcome.reading.measurements:
        return "none of its content is in the database"
    if faults := len(outcome.reading.faults):
        return f"{faults} of its entries could not be read, and are in no database"
    if link := link_to(outcome.path, terms.roots):
        return f"{link} is a link, and links are not followed to delete"
    try:
        age_s = terms.now - outcome.path.stat().st_mtime
    except OSError as error:
        return f"cannot be looked at: {error.strerror or error}"
    if terms.older_than_s is not None and age_s < terms.older_than_s:
        return f"it was changed within the last {terms.older_than_s / _DAY_S:g} days"
    return None


def _delete(outcome: FileOutcome, terms: RemovalTerms, held: RowContents) -> str | None:
    """Delete the file if it is verified; else return the reason why not."""
    try:
        before = _state(outcome.path)
        document = Document.read(outcome.path)
        reason = _unverified(outcome, read_document(document, terms.formats), held)
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
    change = compare_contents(held, contents_of(records_table(again, datetime.now(UTC))))
    return None if change.is_none else _difference(change)


def _difference(change: RecordChanges) -> str:
    count = len(change.new) + len(change.changed) + len(change.there)
    if len(change.there) == count:
        return "the database holds records of it that are not in it"
    return f"the database holds {len(change.there)} of its {count} records as they are"


def _state(path: Path) -> tuple[int, int, int]:
    state = os.lstat(path)
    return state.st_ino, state.st_size, state.st_mtime_ns
