"""Going back to a snapshot: it takes the database's place, and nothing is thrown away."""

import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from orchestrator.errors import StoreError
from orchestrator.store.file.backup import flush_folder
from orchestrator.store.file.connect import WAIT_S, NotADatabase, connect
from orchestrator.store.file.lock import writer_lock
from orchestrator.store.file.paths import is_missing, log_of
from orchestrator.store.health.snapshots import Snapshot, find, take_locked
from orchestrator.store.schema.kind import kind_of
from runner.file_hash import sha256_of

BEFORE_RESTORE = "before-restore"


@dataclass(frozen=True)
class Restored:
    """What a restore did."""

    snapshot: Snapshot
    """What is the database now."""
    kept: Snapshot | None
    """What was the database before; None if there was none, or if it could not be opened."""
    aside: Path | None
    """Where one that could not be opened lies now."""


def restore(
    database: Path, root: Path, name: str, git_commit: str | None, wait_s: float = WAIT_S
) -> Restored:
    """Let a snapshot take the database's place, which is kept as a snapshot of its own.

    Raises:
        MatrixError: there is no such snapshot.
        StoreError: the snapshot has changed since, the database is not ours or of the other kind,
            or the file system refuses; the database is as it was then.
    """
    snapshot = find(root, name)
    with writer_lock(database, wait_s):
        path = database.resolve()
        incoming = path.with_name(f".{path.name}.restored")
        try:
            _copy_checked(snapshot, incoming)
            kept = aside = None
            if not is_missing(path):
                try:
                    _require_kind(path, wait_s, scratch=snapshot.manifest.scratch)
                    kept = take_locked(path, root, BEFORE_RESTORE, git_commit, wait_s)
                except NotADatabase:
                    aside = _set_aside(path)
            log_of(path).unlink(missing_ok=True)
            incoming.replace(path)
            flush_folder(path.parent)
        except OSError as error:
            raise StoreError(
                f"{path}: cannot be restored: {error.strerror or error}",
                hint="nothing was lost; see that the disk is not full",
            ) from error
        finally:
            incoming.unlink(missing_ok=True)
    return Restored(snapshot, kept, aside)


def _copy_checked(snapshot: Snapshot, incoming: Path) -> None:
    """Copy the snapshot's database, provided that it is as it was when it was taken."""
    with snapshot.database.open("rb") as source, incoming.open("wb") as target:
        shutil.copyfileobj(source, target)
        target.flush()
        os.fsync(target.fileno())
    if sha256_of(incoming) != snapshot.manifest.sha256:
        raise StoreError(
            f"{snapshot.database}: is not as it was when it was taken: another hash",
            hint="nothing was changed; restore another one, see `orchestrator snapshot --list`",
        )


def _require_kind(path: Path, wait_s: float, *, scratch: bool) -> None:
    with connect(path, read_only=True, wait_s=wait_s) as connection:
        kind = kind_of(connection, path)
    if kind.scratch != scratch:
        one, other = ("real", "scratch") if scratch else ("scratch", "real")
        raise StoreError(
            f"{path}: a {one} database, and the snapshot is of a {other} one",
            hint="name another file with `--database`; nothing was changed",
        )


def _set_aside(path: Path) -> Path:
    """Copy what cannot be opened, with its log, under a name of its own."""
    aside = path.with_name(f"{path.name}.damaged-{datetime.now(UTC):%Y%m%d-%H%M%S}")
    for source, target in ((path, aside), (log_of(path), log_of(aside))):
        if source.exists():
            shutil.copyfile(source, target)
    return aside
