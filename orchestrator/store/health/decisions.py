"""Decisions of a database's owner: known steps, its predictor, and runs that are dropped."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import (
    WAIT_S,
    fetch,
    require_database,
    store_errors,
    transaction,
    writer_lock,
)
from orchestrator.store.database.open import open_current
from orchestrator.store.records.kept import drop_kept, keep_decisions
from orchestrator.store.schema.tables import OURS, SYNTHETIC
from orchestrator.system.files import REMEDY

_KNOWN = """
    SELECT cell_id FROM accepted_changes
    WHERE run_id = ? AND (? IS NULL OR cell_id IN (SELECT unnest(?::VARCHAR[]))) ORDER BY cell_id
"""
_ACCEPT = """
    INSERT OR REPLACE INTO accepted_changes BY NAME
    SELECT $run_id || '/' || cell_id AS result_id, $run_id AS run_id, cell_id,
        $because AS because, $accepted_at AS accepted_at, $accepted_by AS accepted_by
    FROM (SELECT unnest($cell_ids::VARCHAR[]) AS cell_id)
"""
_WITHDRAW = """
    DELETE FROM accepted_changes WHERE run_id = ? AND cell_id IN (SELECT unnest(?::VARCHAR[]))
"""


@dataclass(frozen=True)
class KnownStep:
    """Results of one run with which their series begin a level that somebody knows."""

    run_id: str
    cell_ids: tuple[str, ...]
    because: str
    accepted_at: datetime
    accepted_by: str | None
    """The name of the user; None if nobody knows it."""


def accept_changes(path: Path, step: KnownStep, wait_s: float = WAIT_S) -> tuple[str, ...]:
    """Record a known step, anew where one was known; returns the ids of those cells."""
    with _changing(path, wait_s, "nothing was accepted") as connection:
        known = _known(connection, step.run_id, step.cell_ids)
        connection.execute(_ACCEPT, asdict(step))
    return known


def withdraw_changes(
    path: Path, run_id: str, cell_ids: Collection[str] | None = None, wait_s: float = WAIT_S
) -> tuple[str, ...]:
    """Take back what was accepted of these cells of a run, or of all; returns their ids."""
    with _changing(path, wait_s, "nothing was taken back") as connection:
        known = _known(connection, run_id, cell_ids)
        connection.execute(_WITHDRAW, [run_id, list(known)])
    return known


def bind_predictor(path: Path, sha256: str, wait_s: float = WAIT_S) -> None:
    """Keep the digest of the predictor that was trained on a database."""
    with _changing(path, wait_s, "its predictor was not noted") as connection:
        connection.execute("UPDATE schema_version SET predictor_sha256 = ?", [sha256])


@contextmanager
def _changing(path: Path, wait_s: float, failure: str) -> Iterator[DuckDBPyConnection]:
    """The database in a transaction of its own; `failure` says what an error left undone."""
    require_database(path)
    with (
        writer_lock(path, wait_s),
        open_current(path, read_only=False, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: {failure}", REMEDY),
        transaction(connection),
    ):
        yield connection
        keep_decisions(connection, path)


def _known(
    connection: DuckDBPyConnection, run_id: str, cell_ids: Collection[str] | None
) -> tuple[str, ...]:
    wanted = None if cell_ids is None else list(cell_ids)
    rows = connection.execute(_KNOWN, [run_id, wanted, wanted]).fetchall()
    return tuple(cell_id for (cell_id,) in rows)


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
_OF_RUNS = "result_id IN (SELECT result_id FROM benchmark_results WHERE run_id IN (FROM dropped))"
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
class DatedRun:
    """A run or an import, and the number of its verdicts in the database."""

    run_id: str
    started_at: datetime
    verdicts: int
    imported: bool


def dated_runs(path: Path, wait_s: float = WAIT_S) -> list[DatedRun]:
    require_database(path)
    with (
        open_current(path, read_only=True, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: cannot be read", "restore it, or merge into a new one"),
    ):
        return [DatedRun(**row) for row in fetch(connection, _RUNS)]


def drop_runs(path: Path, run_ids: Sequence[str], wait_s: float = WAIT_S) -> None:
    """Delete runs, rows that only they use, and what is kept of them; call with the lock held."""
    drop_kept(path, run_ids)  # first: who is killed before the rows go can drop them again
    with (
        open_current(path, read_only=False, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: the runs cannot be dropped", f"nothing was changed; {REMEDY}"),
    ):
        dropped = "CREATE TEMP TABLE dropped AS SELECT unnest(?::VARCHAR[]) AS run_id"
        connection.execute(dropped, [list(run_ids)])
        with transaction(connection):
            for table in ("raw_benchmark_data", "replay_jobs"):
                connection.execute(f"DELETE FROM {table} WHERE {_OF_RUNS}")
            for table in ("accepted_changes", "quarantine", "benchmark_results", "benchmark_runs"):
                connection.execute(f"DELETE FROM {table} WHERE run_id IN (FROM dropped)")
            for table, key, used in _SHARED:
                connection.execute(
                    f"DELETE FROM {table} t"
                    f" WHERE NOT EXISTS (SELECT 1 FROM ({used}) u(key) WHERE u.key = t.{key})"
                )
            keep_decisions(connection, path)
