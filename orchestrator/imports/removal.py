"""Deletes imported files, once the database is seen to hold every record of them."""

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.imports.content import Contents, contents_by_run, contents_of, link_to
from orchestrator.imports.document import Document, Unreadable
from orchestrator.imports.formats.base import Format
from orchestrator.imports.importing import Change, change_to
from orchestrator.imports.outcome import Verdict, judge_document
from orchestrator.imports.record import table_of
from orchestrator.store import held_at

DAY_S = 86400.0


@dataclass(frozen=True)
class Removal:
    """What happened to one file."""

    path: Path
    kept: str | None = None
    """Why it is still there; None if it was deleted, or would be."""


@dataclass(frozen=True)
class Terms:
    """Which files may go."""

    roots: Sequence[Path]
    """The paths that the user named."""
    formats: Sequence[Format]
    """Those by which the files were read."""
    older_than_s: float | None = None
    """Seconds since the file was last changed; None: however young it is."""
    now: float = field(default_factory=time.time)


def remove_sources(verdicts: Sequence[Verdict], terms: Terms, database: Path) -> Iterator[Removal]:
    """Delete each file whose every record the database holds, and tell of each what happened.

    Just before it goes, a file is read again: its hash must be the one that was imported, and its
    records, by count and by hash, those that the database holds of it.

    Raises:
        StoreError: the database is in use, or not ours.
    """
    held = _held(verdicts, database)
    for verdict in verdicts:
        reason = _kept(verdict, terms)
        if reason is None:
            reason = _deleted(verdict, terms, held.get(verdict.run_id, {}))
        yield Removal(verdict.path, reason)


def foresee_removal(verdicts: Iterable[Verdict], terms: Terms) -> Iterator[Removal]:
    """Which files could go once the database holds them."""
    for verdict in verdicts:
        yield Removal(verdict.path, _kept(verdict, terms))


def _held(verdicts: Iterable[Verdict], database: Path) -> Mapping[str, Contents]:
    run_ids = list({verdict.run_id for verdict in verdicts if verdict.reading.found})
    table = held_at(database, run_ids)
    return {} if table is None else contents_by_run(table)


def _kept(verdict: Verdict, terms: Terms) -> str | None:
    """Why the file stays, whatever the database holds."""
    if not verdict.reading.found:
        return "none of its content is in the database"
    if faults := len(verdict.reading.faults):
        return f"{faults} of its entries could not be read, and are in no database"
    if link := link_to(verdict.path, terms.roots):
        return f"{link} is a link, and links are not followed to delete"
    try:
        age_s = terms.now - verdict.path.stat().st_mtime
    except OSError as error:
        return f"cannot be looked at: {error.strerror or error}"
    if terms.older_than_s is not None and age_s < terms.older_than_s:
        return f"it was changed within the last {terms.older_than_s / DAY_S:g} days"
    return None


def _deleted(verdict: Verdict, terms: Terms, held: Contents) -> str | None:
    """Delete the file if it is verified; why not otherwise."""
    try:
        before = _state(verdict.path)
        document = Document.read(verdict.path)
        reason = _unverified(verdict, judge_document(document, terms.formats), held)
        if reason is None and _state(verdict.path) != before:
            reason = "it has changed since it was imported"
        if reason is None:
            verdict.path.unlink()
    except (OSError, Unreadable) as error:
        return f"cannot be deleted: {getattr(error, 'strerror', None) or error}"
    return reason


def _unverified(verdict: Verdict, again: Verdict, held: Contents) -> str | None:
    if again.sha256 != verdict.sha256:
        return "it has changed since it was imported"
    if again.run_id != verdict.run_id or again.reading != verdict.reading:
        return "what lies beside it has changed since it was imported"
    change = change_to(held, contents_of(table_of(again, datetime.now(UTC))))
    return None if change.is_none else _difference(change)


def _difference(change: Change) -> str:
    count = len(change.new) + len(change.changed) + len(change.there)
    if len(change.there) == count:
        return "the database holds records of it that are not in it"
    return f"the database holds {len(change.there)} of its {count} records as they are"


def _state(path: Path) -> tuple[int, int, int]:
    state = os.lstat(path)
    return state.st_ino, state.st_size, state.st_mtime_ns
