"""Keeps a database file small: its log emptied, its free space given back, old runs dropped."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.errors import StoreError
from orchestrator.store.file.backup import empty_log, flush_folder
from orchestrator.store.file.connect import (
    WAIT_S,
    explain,
    explained,
    log_of,
    require_database,
    writer_lock,
)
from orchestrator.store.file.forward import open_current
from orchestrator.store.file.rows import fetch
from orchestrator.store.schema.columns import text
from orchestrator.store.schema.origin import OURS, SYNTHETIC

WASTED_SHARE = 0.25
"""A file of which so much is free, or filled by deleted rows, is worth rewriting,"""
WASTED_BYTES = 2**20
"""provided that it is this much."""
_RUNS = f"""
    SELECT run_id, coalesce(r.started_at, v.first_at) AS started_at,
        coalesce(v.verdicts, 0) AS verdicts,
        coalesce(v.imported, list_contains(r.launchers, 'import')) AS imported
    FROM benchmark_runs r FULL JOIN (
        SELECT run_id, count(*) AS verdicts, min(recorded_at) AS first_at,
            bool_or(source NOT IN ('{OURS}', '{SYNTHETIC}')) AS imported
        FROM benchmark_results GROUP BY run_id) v USING (run_id)
    ORDER BY started_at DESC, run_id DESC
"""
_OF_RUNS = "result_id IN (SELECT result_id FROM benchmark_results WHERE run_id IN (FROM doomed))"
_SHARED = (
    ("hardware_info", "hardware_id", "SELECT hardware_id FROM benchmark_results"),
    ("environments", "environment_id", "SELECT environment_id FROM benchmark_results"),
    ("models", "model_id", "SELECT model_id FROM benchmark_results"),
    (
        "artefacts",
        "digest",
        "SELECT unnest([graph_sha256, weights_revision]) FROM benchmark_results"
        " UNION ALL SELECT image_digest FROM environments",
    ),
)
"""Tables whose rows several results share, with their key and where it is needed."""


@dataclass(frozen=True)
class StoredRun:
    """A run as the database knows it."""

    run_id: str
    started_at: datetime
    verdicts: int
    imported: bool


@dataclass(frozen=True)
class Tidied:
    """What became of the file, bytes with its log."""

    bytes_before: int
    bytes_after: int
    rewritten: bool
    """Whether it was written anew without the space that was free in it."""


def stored_runs(path: Path, wait_s: float = WAIT_S) -> list[StoredRun]:
    """All runs and imports, the newest first.

    Raises:
        StoreError: the database cannot be read.
    """
    require_database(path)
    with (
        open_current(path, read_only=True, wait_s=wait_s)[0] as connection,
        explained(f"{path}: cannot be read", "restore it, or merge into a new one"),
    ):
        return [StoredRun(**row) for row in fetch(connection, _RUNS)]


def drop_runs(path: Path, run_ids: Sequence[str], wait_s: float = WAIT_S) -> None:
    """Remove these runs, and whatever they alone used: all or nothing. Call with the lock held.

    Raises:
        StoreError: the database cannot be written.
    """
    with (
        open_current(path, read_only=False, wait_s=wait_s)[0] as connection,
        explained(f"{path}: the runs cannot be dropped", "nothing was changed; free some space"),
    ):
        doomed = "CREATE TEMP TABLE doomed AS SELECT unnest(?::VARCHAR[]) AS run_id"
        connection.execute(doomed, [list(run_ids)])
        connection.begin()
        for table in ("raw_benchmark_data", "replay_jobs"):
            connection.execute(f"DELETE FROM {table} WHERE {_OF_RUNS}")
        for table in ("quarantine", "benchmark_results", "benchmark_runs"):
            connection.execute(f"DELETE FROM {table} WHERE run_id IN (FROM doomed)")
        for table, key, used in _SHARED:
            connection.execute(
                f"DELETE FROM {table} t"
                f" WHERE NOT EXISTS (SELECT 1 FROM ({used}) u(key) WHERE u.key = t.{key})"
            )
        connection.commit()


def tidy(path: Path, wait_s: float = WAIT_S) -> Tidied:
    """Bring the log into the file; write the file anew if much of it is free.

    Raises:
        StoreError: the database cannot be written; it is as it was then.
    """
    require_database(path)
    with writer_lock(path, wait_s):
        path = path.resolve()
        before = size_of(path)
        with (
            open_current(path, read_only=False, wait_s=wait_s)[0] as connection,
            explained(f"{path}: the log cannot be emptied", "nothing was lost; free some space"),
        ):
            if log_of(path).exists():
                empty_log(connection)
            wasted = _wasted_bytes(connection)
        rewritten = wasted >= max(WASTED_BYTES, WASTED_SHARE * path.stat().st_size)
        if rewritten:
            _rewrite(path)
        return Tidied(before, size_of(path), rewritten)


def size_of(path: Path) -> int:
    """The size of the database and its log, bytes."""
    return sum(each.stat().st_size for each in (path, log_of(path)) if each.exists())


def _wasted_bytes(connection: DuckDBPyConnection) -> int:
    """Blocks that are free, and the part of the others that deleted rows still fill."""
    (size,) = fetch(connection, "PRAGMA database_size")
    (rows,) = fetch(connection, "SELECT sum(estimated_size) AS stored FROM duckdb_tables()")
    alive = sum(_counts(connection, "current_database()").values())
    dead = 1 - alive / rows["stored"] if rows["stored"] else 0
    blocks = size["free_blocks"] + size["used_blocks"] * max(0, dead)
    return int(blocks * size["block_size"])


def _rewrite(path: Path) -> None:
    """Copy all that is in the file into a new one that takes its place; readers may go on."""
    unfinished = path.with_name(f".{path.name}.rewritten")
    try:
        _remove(unfinished)
        with duckdb.connect() as connection:
            connection.execute(f"ATTACH {text(str(path))} AS old (READ_ONLY)")
            connection.execute(f"ATTACH {text(str(unfinished))} AS new")
            connection.execute("COPY FROM DATABASE old TO new")
            if _counts(connection, "'old'") != _counts(connection, "'new'"):
                raise StoreError(
                    f"{path}: a copy of it lacks rows",
                    hint="nothing was changed; `orchestrator validate` looks for what is wrong",
                )
            connection.execute("DETACH new")
        with unfinished.open("rb+") as file:
            os.fsync(file.fileno())
        unfinished.replace(path)
        flush_folder(path.parent)
    except (duckdb.Error, OSError) as error:
        raise StoreError(
            f"{path}: cannot be written anew: {explain(error)}",
            hint="nothing was changed; it takes as much free space as its rows",
        ) from error
    finally:
        _remove(unfinished)


def _counts(connection: DuckDBPyConnection, database: str) -> dict[str, int]:
    """Rows by table of the database that this expression names."""
    tables = fetch(
        connection,
        "SELECT database_name || '.' || table_name AS place, table_name AS name"
        f" FROM duckdb_tables() WHERE database_name = {database} ORDER BY name",
    )
    return {
        each["name"]: fetch(connection, f"SELECT count(*) AS rows FROM {each['place']}")[0]["rows"]
        for each in tables
    }


def _remove(path: Path) -> None:
    for leftover in (path, log_of(path)):
        leftover.unlink(missing_ok=True)
