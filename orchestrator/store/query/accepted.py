"""Accepted changes of series, in the database and a file beside it; the digest of its predictor."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import store_errors, transaction
from orchestrator.store.database.lock import WAIT_S, require_database, writer_lock
from orchestrator.store.database.open import open_current
from orchestrator.store.records.kept import keep_decisions
from orchestrator.store.schema.tables import ACCEPTED, VERSION
from orchestrator.system.files import REMEDY

_KNOWN = f"""
    SELECT cell_id FROM {ACCEPTED.name}
    WHERE run_id = ? AND (? IS NULL OR cell_id IN (SELECT unnest(?::VARCHAR[]))) ORDER BY cell_id
"""
_ACCEPT = f"""
    INSERT OR REPLACE INTO {ACCEPTED.name} BY NAME
    SELECT $run_id || '/' || cell_id AS result_id, $run_id AS run_id, cell_id,
        $because AS because, $accepted_at AS accepted_at, $accepted_by AS accepted_by
    FROM (SELECT unnest($cell_ids::VARCHAR[]) AS cell_id)
"""
_WITHDRAW = f"""
    DELETE FROM {ACCEPTED.name} WHERE run_id = ? AND cell_id IN (SELECT unnest(?::VARCHAR[]))
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
    """Record a known step.

    What was accepted of these cells before gets the new reason; their ids are returned.
    """
    with _changing(path, wait_s, "nothing was accepted") as connection:
        known = _known(connection, step.run_id, step.cell_ids)
        connection.execute(_ACCEPT, asdict(step))
    return known


def withdraw_changes(
    path: Path, run_id: str, cell_ids: Collection[str] | None = None, wait_s: float = WAIT_S
) -> tuple[str, ...]:
    """Take back what was accepted of these cells of a run, or of all of them.

    Returns the ids of the cells of which something had been accepted, be their results here or not.
    """
    with _changing(path, wait_s, "nothing was taken back") as connection:
        known = _known(connection, run_id, cell_ids)
        connection.execute(_WITHDRAW, [run_id, list(known)])
    return known


def bind_predictor(path: Path, sha256: str, wait_s: float = WAIT_S) -> None:
    """Keep the digest of the predictor that was trained on a database: no other is its own."""
    with _changing(path, wait_s, "its predictor was not noted") as connection:
        connection.execute(f"UPDATE {VERSION.name} SET predictor_sha256 = ?", [sha256])


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
    """The cells, among these or all of the run, of which something was accepted."""
    wanted = None if cell_ids is None else list(cell_ids)
    rows = connection.execute(_KNOWN, [run_id, wanted, wanted]).fetchall()
    return tuple(cell_id for (cell_id,) in rows)
