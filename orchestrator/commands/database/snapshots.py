"""Snapshots of the database: take, list, restore."""

from dataclasses import dataclass
from pathlib import Path

from orchestrator import store
from orchestrator.store import Manifest, Snapshot
from orchestrator.system.files import SNAPSHOTS_FOLDER
from orchestrator.system.git import own_commit


class SnapshotReport(Manifest):
    """A snapshot: its manifest, and the folder in which it lies."""

    folder: Path


@dataclass(frozen=True)
class RestoreReport:
    """A database that a snapshot has replaced."""

    database: Path
    snapshot: SnapshotReport
    """The snapshot that is the database now."""
    kept: SnapshotReport | None
    """A snapshot of the former database; None if there was none, or it could not be opened."""
    aside: Path | None
    """A copy of a former database that could not be opened."""


def save_snapshot(results: Path, database: Path, name: str | None) -> SnapshotReport:
    """Copy the database into a folder of its own, whole or not at all.

    Raises:
        UsageError: a snapshot cannot have that name.
        StoreError: there is no database, it is not ours or in use, or the file system refuses.
    """
    return _report(store.take_snapshot(database, results / SNAPSHOTS_FOLDER, name, own_commit()))


def report_snapshots(results: Path) -> list[SnapshotReport]:
    """All snapshots beside the runs, the newest first."""
    return [_report(snapshot) for snapshot in store.list_snapshots(results / SNAPSHOTS_FOLDER)]


def return_to_snapshot(results: Path, database: Path, name: str) -> RestoreReport:
    """Replace the database by a snapshot, and keep what it was as a snapshot of its own.

    Raises:
        UsageError: there is no such snapshot.
        StoreError: the snapshot has changed since, the database is not ours or of the other kind,
            or the file system refuses.
    """
    restored = store.restore_snapshot(database, results / SNAPSHOTS_FOLDER, name, own_commit())
    return RestoreReport(
        database=database,
        snapshot=_report(restored.snapshot),
        kept=None if restored.kept is None else _report(restored.kept),
        aside=restored.aside,
    )


def _report(snapshot: Snapshot) -> SnapshotReport:
    return SnapshotReport(folder=snapshot.folder, **dict(snapshot.manifest))
