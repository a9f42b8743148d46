"""Deletion of runs from the database, with all rows that they alone used."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import fetch, store_errors, transaction
from orchestrator.store.database.lock import WAIT_S, require_database
from orchestrator.store.database.open import open_current
from orchestrator.store.records.kept import drop_kept, keep_decisions
from orchestrator.store.schema.tables import OURS, SYNTHETIC
from orchestrator.system.files import REMEDY

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
    """All runs and imports, the newest first."""
    require_database(path)
    with (
        open_current(path, read_only=True, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: cannot be read", "restore it, or merge into a new one"),
    ):
        return [DatedRun(**row) for row in fetch(connection, _RUNS)]


def drop_runs(path: Path, run_ids: Sequence[str], wait_s: float = WAIT_S) -> None:
    """Delete runs, the rows that only they use, and what is kept of them beside the database.

    All rows go in one transaction, after the kept files: who is killed before can drop them again.
    Call it with the lock held.
    """
    drop_kept(path, run_ids)
    with (
        open_current(path, read_only=False, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: the runs cannot be dropped", f"nothing was changed; {REMEDY}"),
    ):
        dropped = "CREATE TEMP TABLE dropped AS SELECT unnest(?::VARCHAR[]) AS run_id"
        connection.execute(dropped, [list(run_ids)])
        with transaction(connection):
            _delete(connection)
            keep_decisions(connection, path)


def _delete(connection: DuckDBPyConnection) -> None:
    for table in ("raw_benchmark_data", "replay_jobs"):
        connection.execute(f"DELETE FROM {table} WHERE {_OF_RUNS}")
    for table in ("accepted_changes", "quarantine", "benchmark_results", "benchmark_runs"):
        connection.execute(f"DELETE FROM {table} WHERE run_id IN (FROM dropped)")
    for table, key, used in _SHARED:
        connection.execute(
            f"DELETE FROM {table} t"
            f" WHERE NOT EXISTS (SELECT 1 FROM ({used}) u(key) WHERE u.key = t.{key})"
        )
