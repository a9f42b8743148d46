"""Snapshots: whole copies of the database, to compare with later and to go back to."""

import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

from pydantic import AwareDatetime, Field, NonNegativeInt, ValidationError

from orchestrator.store.database.connect import (
    WAIT_S,
    connect,
    count_rows,
    is_missing,
    require_database,
    store_errors,
    wal_path,
    writer_lock,
)
from orchestrator.store.database.open import MANIFEST, read_kind, require_schema
from orchestrator.store.health.copies import copy_aside, copy_database
from orchestrator.system.files import REMEDY, translate_os_errors
from runner import __version__
from runner.contract.cell import Frozen
from runner.contract.errors import DamagedFile, StoreError, UsageError
from runner.contract.files import file_sha256, sync, write_atomic


class Manifest(Frozen):
    """A snapshot, as it was taken."""

    name: str | None
    taken_at: AwareDatetime
    database: Annotated[str, Field(pattern="^[^/]+$")]
    """The copied file's name, beside this one."""
    schema_version: int
    scratch: bool
    """True if it may hold rows of the fake backend."""
    size_bytes: NonNegativeInt
    sha256: str
    rows: Mapping[str, NonNegativeInt]
    version: str
    git_commit: str | None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""


def read_manifest(folder: Path) -> Manifest:
    try:
        return Manifest.model_validate_json((folder / MANIFEST).read_bytes())
    except (OSError, ValidationError) as error:
        raise StoreError(
            f"{folder / MANIFEST}: cannot be read: {str(error).splitlines()[0]}",
            hint="the database beside it can still be asked: `orchestrator query --database FILE`",
        ) from error


_LAST = "last"
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)


@dataclass(frozen=True)
class Snapshot:
    """A copy of the database with its manifest, in a folder of its own."""

    folder: Path
    manifest: Manifest

    @property
    def database(self) -> Path:
        return self.folder / self.manifest.database


def take_snapshot(
    database: Path, root: Path, name: str | None, git_commit: str | None, wait_s: float = WAIT_S
) -> Snapshot:
    """Copy the database into a folder of its own below `root`, whole or not at all."""
    if name is not None and (name == _LAST or not _NAME.fullmatch(name)):
        raise UsageError(
            f"{name!r} cannot name a snapshot",
            hint="use up to 64 letters, digits, dots, dashes and underscores; `last` is taken",
        )
    require_database(database)
    with writer_lock(database, wait_s):
        return _take_locked(database.resolve(), root, name, git_commit, wait_s)


def list_snapshots(root: Path) -> list[Snapshot]:
    """All snapshots, the newest first, without those whose manifest is damaged."""
    snapshots = []
    for path in root.glob(f"[!.]*/{MANIFEST}"):
        with suppress(StoreError):
            snapshots.append(Snapshot(path.parent, read_manifest(path.parent)))
    return sorted(
        snapshots, key=lambda snapshot: (snapshot.manifest.taken_at, snapshot.folder), reverse=True
    )


def find_snapshot(root: Path, name: str) -> Snapshot:
    """The snapshot of that folder or, the newest one, of that name; `last` is the newest of all."""
    known = list_snapshots(root)
    for snapshot in known:
        if name in (_LAST, snapshot.folder.name, snapshot.manifest.name):
            return snapshot
    if name and (root / name / MANIFEST).exists():
        read_manifest(root / name)
    newest = f"the newest are {', '.join(snapshot.folder.name for snapshot in known[:3])}"
    raise UsageError(
        f"{name!r} is not a snapshot in {root}", hint=newest if known else "there is none yet"
    )


def _take_locked(
    path: Path, root: Path, name: str | None, git_commit: str | None, wait_s: float
) -> Snapshot:
    """Copy a database with the writer's lock held; `path` is the file itself, no link to it."""
    now = datetime.now(UTC)
    dated = "-".join(filter(None, (f"{now:%Y%m%d-%H%M%S}", name)))
    number, folder = 1, root / dated
    while folder.exists():
        number += 1
        folder = root / f"{dated}-{number}"
    ending = f".{path.name}.tmp"
    unfinished = folder.with_name(f".{folder.name}{ending}")
    try:
        with translate_os_errors(folder, "the snapshot cannot be written", REMEDY):
            for left in root.glob(".*"):  # by a process that was killed
                if left.name.endswith(ending):
                    shutil.rmtree(left)
            unfinished.mkdir(parents=True)
            copy = unfinished / path.name
            copy_database(path, copy, wait_s)
            manifest = _describe(copy, name, now, git_commit)
            write_atomic(unfinished / MANIFEST, manifest.model_dump_json(indent=2))
            unfinished.rename(folder)
            sync(root)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return Snapshot(folder, manifest)


def _describe(copy: Path, name: str | None, now: datetime, git_commit: str | None) -> Manifest:
    hint = "`orchestrator database check` looks for what is wrong"
    with (
        connect(copy, read_only=True, wait_s=0) as connection,
        store_errors(f"{copy}: cannot be read", hint),
    ):
        kind, rows = read_kind(connection, copy), count_rows(connection)
    return Manifest(
        name=name,
        taken_at=now,
        database=copy.name,
        schema_version=kind.schema,
        scratch=kind.scratch,
        size_bytes=copy.stat().st_size,
        sha256=file_sha256(copy),
        rows=rows,
        version=__version__,
        git_commit=git_commit,
    )


BEFORE_RESTORE = "before-restore"


@dataclass(frozen=True)
class Restored:
    """A database that a snapshot has replaced."""

    snapshot: Snapshot
    kept: Snapshot | None
    """A snapshot of the former database; None if there was none, or it could not be opened."""
    aside: Path | None
    """A copy of a former database that could not be opened."""


def restore_snapshot(
    database: Path, root: Path, name: str, git_commit: str | None, wait_s: float = WAIT_S
) -> Restored:
    """Replace the database by a snapshot, and keep what it was as a snapshot of its own."""
    snapshot = find_snapshot(root, name)
    require_schema(snapshot.manifest.schema_version, snapshot.database)
    with writer_lock(database, wait_s):
        path = database.resolve()
        incoming = path.with_name(f".{path.name}.restored")
        try:
            with translate_os_errors(path, "cannot be restored", f"nothing was lost; {REMEDY}"):
                _copy_checked(snapshot, incoming)
                kept = aside = None
                if not is_missing(path):
                    try:
                        with connect(path, read_only=True, wait_s=wait_s) as connection:
                            is_scratch = read_kind(connection, path).scratch
                        if is_scratch != snapshot.manifest.scratch:
                            raise _other_kind(path, scratch=is_scratch)
                        kept = _take_locked(path, root, BEFORE_RESTORE, git_commit, wait_s)
                    except DamagedFile:
                        aside = copy_aside(path, "damaged")
                wal_path(path).unlink(missing_ok=True)
                incoming.replace(path)
                sync(path.parent)
        finally:
            incoming.unlink(missing_ok=True)
    return Restored(snapshot, kept, aside)


def _copy_checked(snapshot: Snapshot, incoming: Path) -> None:
    with snapshot.database.open("rb") as source, incoming.open("wb") as target:
        shutil.copyfileobj(source, target)
    sync(incoming)
    if file_sha256(incoming) != snapshot.manifest.sha256:
        raise StoreError(
            f"{snapshot.database}: is not as it was when it was taken: another hash",
            hint="nothing was changed; `orchestrator database snapshot --list` lists the others",
        )


def _other_kind(path: Path, *, scratch: bool) -> StoreError:
    one, other = ("scratch", "real") if scratch else ("real", "scratch")
    return StoreError(
        f"{path}: a {one} database, and the snapshot is of a {other} one",
        hint="name another file with `--database`; nothing was changed",
    )
