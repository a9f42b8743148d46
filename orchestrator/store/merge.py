"""Merging record files: the newest record of each cell wins, in whatever order they come."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.columns import names
from orchestrator.store.report import MergeReport
from orchestrator.store.run import Run
from orchestrator.store.staging import stage
from orchestrator.store.tables import DURATIONS, HARDWARE, JOBS, RAW, RESULTS, RUNS

_FAKE = "backend = 'fake'"
_CHOOSE = """
    CREATE OR REPLACE TEMP TABLE chosen AS
    SELECT newest.row, newest.result_id, known.result_id IS NOT NULL AS replaces
    FROM (
        SELECT rowid AS row, result_id, recorded_at FROM incoming
        QUALIFY row_number() OVER (
            PARTITION BY result_id ORDER BY recorded_at DESC, filename, rowid) = 1
    ) newest
    LEFT JOIN benchmark_results known USING (result_id)
    WHERE known.result_id IS NULL OR newest.recorded_at > known.recorded_at
"""
_COUNT = """
    SELECT (SELECT count(*) FROM incoming),
        count(*) FILTER (NOT replaces), count(*) FILTER (replaces)
    FROM chosen
"""
_TAKEN = "FROM incoming WHERE rowid IN (SELECT row FROM chosen)"
_HAS_DURATIONS = " OR ".join(f"{name} IS NOT NULL" for name in DURATIONS)
_FACTS = HARDWARE.columns[1:]
_HARDWARE = f"""
    INSERT INTO hardware_info
    SELECT {names(HARDWARE.columns[:-1])}, recorded_at FROM incoming
    WHERE hardware_id IS NOT NULL
    QUALIFY row_number() OVER (
        PARTITION BY hardware_id ORDER BY recorded_at DESC, result_id) = 1
    ON CONFLICT (hardware_id) DO UPDATE
    SET {", ".join(f"{fact.name} = excluded.{fact.name}" for fact in _FACTS)}
    WHERE excluded.seen_at > hardware_info.seen_at
"""
_INFERRED = {
    "run_id": "run_id",
    "started_at": "min(recorded_at)",
    "finished_at": "max(recorded_at)",
    "launchers": "list_sort(list(DISTINCT launcher))",
    "seed": "min(seed)",
    "git_commit": "arg_max(git_commit, (recorded_at, result_id))",
    "orchestrator_version": "arg_max(orchestrator_version, (recorded_at, result_id))",
    "hostname": "arg_max(hostname, (recorded_at, result_id))",
    "described": "false",
}
_INFER = f"""
    INSERT OR REPLACE INTO benchmark_runs ({", ".join(_INFERRED)})
    SELECT {", ".join(_INFERRED.values())} FROM benchmark_results
    WHERE run_id IN (SELECT run_id FROM incoming)
        AND run_id NOT IN (SELECT run_id FROM benchmark_runs WHERE described)
    GROUP BY run_id
"""


def merge(
    connection: DuckDBPyConnection, files: Sequence[Path], run: Run | None, *, scratch: bool
) -> MergeReport:
    """Bring these files' records into the database, all at once.

    Raises:
        duckdb.Error: the database cannot take them, e.g. because the disk is full.
    """
    damaged = stage(connection, files)
    refused = () if scratch else _refuse_fake(connection)
    connection.execute(_CHOOSE)
    ((rows, inserted, replaced),) = connection.execute(_COUNT).fetchall()
    with _transaction(connection):
        _write(connection, run, replacing=replaced > 0)
    connection.execute("DROP TABLE incoming; DROP TABLE chosen")
    return MergeReport(inserted, replaced, rows - inserted - replaced, tuple(damaged), refused)


def _write(connection: DuckDBPyConnection, run: Run | None, *, replacing: bool) -> None:
    if replacing:
        _remove_replaced(connection)
    connection.execute(f"INSERT INTO {RESULTS.name} SELECT {RESULTS.names} {_TAKEN}")
    connection.execute(f"INSERT INTO {RAW.name} SELECT {RAW.names} {_TAKEN} AND ({_HAS_DURATIONS})")
    connection.execute(f"INSERT INTO {JOBS.name} SELECT {JOBS.names} {_TAKEN} AND job IS NOT NULL")
    connection.execute(_HARDWARE)
    if run is not None:
        _describe(connection, run)
    connection.execute(_INFER)


@contextmanager
def _transaction(connection: DuckDBPyConnection) -> Iterator[None]:
    connection.begin()
    try:
        yield
        connection.commit()
    except BaseException:
        with suppress(duckdb.Error):
            connection.rollback()
        raise


def _refuse_fake(connection: DuckDBPyConnection) -> tuple[str, ...]:
    found = connection.execute(
        f"SELECT DISTINCT result_id FROM incoming WHERE {_FAKE} ORDER BY result_id"
    ).fetchall()
    connection.execute(f"DELETE FROM incoming WHERE {_FAKE}")
    return tuple(result_id for (result_id,) in found)


def _remove_replaced(connection: DuckDBPyConnection) -> None:
    for table in (RESULTS, RAW, JOBS):
        connection.execute(
            f"DELETE FROM {table.name}"
            " WHERE result_id IN (SELECT result_id FROM chosen WHERE replaces)"
        )


def _describe(connection: DuckDBPyConnection, run: Run) -> None:
    values = [*run.model_dump().values(), True]
    places = ", ".join("?" for _ in values)
    connection.execute(f"INSERT OR REPLACE INTO {RUNS.name} VALUES ({places})", values)
