"""The parts of `database rebuild` that know DuckDB: begin a new database, and let it take over."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import duckdb

from analysis.results.source import text
from orchestrator.store.database.connect import (
    WAIT_S,
    connect,
    delete_database,
    is_missing,
    lock_path,
    scalar,
    store_errors,
    transaction,
    wal_path,
)
from orchestrator.store.database.open import create, open_current, read_kind
from orchestrator.store.health.copies import copy_aside
from orchestrator.store.query.whole_runs import ALL_RECORDS
from orchestrator.store.records.kept import keep_decisions, keep_merged, restore_decisions
from orchestrator.store.schema.tables import STORE_VERSION
from orchestrator.system.files import REMEDY, translate_os_errors
from runner.contract.errors import StoreError
from runner.contract.files import sync

_LOST = """
    SELECT count(*) FROM old.benchmark_results
    WHERE result_id NOT IN (SELECT result_id FROM new.benchmark_results)
"""


@dataclass(frozen=True)
class FormerDatabase:
    """A database that is about to be rebuilt."""

    scratch: bool
    is_current: bool
    """True if it has this schema, so that its rows can be read."""


def former_database(path: Path, wait_s: float = WAIT_S) -> FormerDatabase | None:
    """The database there; None if there is none of ours that can be opened."""
    if is_missing(path):
        return None
    try:
        with connect(path, read_only=True, wait_s=wait_s) as connection:
            kind = read_kind(connection, path)
        if kind.schema == STORE_VERSION:
            open_current(path, read_only=True, wait_s=wait_s)[0].close()
    except StoreError:
        return None
    return FormerDatabase(kind.scratch, kind.schema == STORE_VERSION)


def keep_unfiled(path: Path, filed: Collection[str], wait_s: float = WAIT_S) -> None:
    """Keep what it holds of runs without a file, and its owner's decisions; hold the lock."""
    with (
        open_current(path, read_only=False, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: cannot be read", REMEDY),
    ):
        keep_decisions(connection, path)
        union = "SELECT run_id FROM benchmark_runs UNION SELECT run_id FROM benchmark_results"
        runs = connection.execute(f"{union} ORDER BY run_id").fetchall()
        if unfiled := [run_id for (run_id,) in runs if run_id not in filed]:
            names = ", ".join(map(text, unfiled))
            keep_merged(connection, f"({ALL_RECORDS} WHERE r.run_id IN ({names}))", unfiled, path)


def begin_rebuild(path: Path, *, scratch: bool) -> Path:
    """A new database beside this one with the decisions of its owner."""
    unfinished = path.with_name(f".{path.name}.rebuilt")
    create(unfinished, scratch=scratch)
    with connect(unfinished, read_only=False, wait_s=0) as connection, transaction(connection):
        restore_decisions(connection, path)
    return unfinished


def drop_rebuild(unfinished: Path) -> None:
    delete_database(unfinished)
    lock_path(unfinished).unlink(missing_ok=True)


@dataclass(frozen=True)
class Takeover:
    """The end of a rebuild."""

    lost: int | None
    """Results of the former database that the new one lacks; None if it cannot be read."""
    aside: Path | None
    """A copy of the former database; None if the new one lacks nothing of it."""


def finish_rebuild(unfinished: Path, path: Path) -> Takeover:
    """Give the new database its name, and keep a copy of the former one if something is lost."""
    with translate_os_errors(path, "cannot be replaced", f"nothing was lost; {REMEDY}"):
        lost = 0 if is_missing(path) else _count_lost(path, unfinished)
        aside = None if lost == 0 else copy_aside(path, "before-rebuild")
        wal_path(path).unlink(missing_ok=True)
        unfinished.replace(path)
        sync(path.parent)
    return Takeover(lost, aside)


def _count_lost(old: Path, new: Path) -> int | None:
    try:
        with duckdb.connect() as connection:
            for name, path in (("old", old), ("new", new)):
                connection.execute(f"ATTACH {text(str(path))} AS {name} (READ_ONLY)")
            return int(scalar(connection, _LOST))
    except duckdb.Error:
        return None
