"""Merging record files: the newest record of each cell wins, in whatever order they come."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.dimensions import statements
from orchestrator.store.origin import SYNTHETIC
from orchestrator.store.report import MergeReport
from orchestrator.store.run import Run
from orchestrator.store.staging import stage, unstage
from orchestrator.store.tables import DURATIONS, ENVIRONMENTS, JOBS, RAW, RESULTS, RUNS

_REAL = f"(backend IS DISTINCT FROM 'fake' AND source <> '{SYNTHETIC}')"
_CHOOSE = f"""
    CREATE OR REPLACE TEMP TABLE chosen AS
    SELECT newest.*, known.result_id IS NOT NULL AS replaces
    FROM (
        SELECT filename, file_row_number, result_id, recorded_at FROM incoming
        WHERE {{welcome}}
        QUALIFY row_number() OVER (
            PARTITION BY result_id ORDER BY recorded_at DESC, filename, file_row_number) = 1
    ) newest
    LEFT JOIN (
        SELECT result_id, recorded_at FROM {RESULTS.name}
        WHERE run_id IN (SELECT DISTINCT run_id FROM incoming)
    ) known USING (result_id)
    WHERE known.result_id IS NULL OR newest.recorded_at > known.recorded_at
"""
_COUNT = """
    SELECT (SELECT count(*) FROM incoming),
        count(*) FILTER (NOT replaces), count(*) FILTER (replaces)
    FROM chosen
"""
_HAS_DURATIONS = " OR ".join(f"{name} IS NOT NULL" for name in DURATIONS)
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
    INSERT OR REPLACE INTO {RUNS.name} ({", ".join(_INFERRED)})
    SELECT {", ".join(_INFERRED.values())}
    FROM {RESULTS.name} LEFT JOIN {ENVIRONMENTS.name} USING (environment_id)
    WHERE run_id IN (SELECT DISTINCT run_id FROM taken)
        AND run_id NOT IN (SELECT run_id FROM {RUNS.name} WHERE described)
    GROUP BY run_id
"""


def merge(
    connection: DuckDBPyConnection, files: Sequence[Path], runs: Sequence[Run], *, scratch: bool
) -> MergeReport:
    """Bring these files' records into the database, all at once.

    Raises:
        duckdb.Error: the database cannot take them, e.g. because the disk is full.
    """
    damaged = stage(connection, files)
    refused = () if scratch else _refused(connection)
    connection.execute(_CHOOSE.format(welcome="true" if scratch else _REAL))
    ((rows, inserted, replaced),) = connection.execute(_COUNT).fetchall()
    _take(connection, everything=rows == inserted)
    with _transaction(connection):
        _write(connection, runs, replacing=replaced > 0)
    connection.execute("DROP VIEW taken; DROP TABLE chosen")
    unstage(connection)
    unchanged = rows - inserted - replaced - len(refused)
    return MergeReport(inserted, replaced, unchanged, tuple(damaged), refused)


def _take(connection: DuckDBPyConnection, *, everything: bool) -> None:
    which = "" if everything else " SEMI JOIN chosen USING (filename, file_row_number)"
    connection.execute(f"CREATE OR REPLACE TEMP VIEW taken AS SELECT * FROM incoming{which}")


def _write(connection: DuckDBPyConnection, runs: Sequence[Run], *, replacing: bool) -> None:
    if replacing:
        _remove_replaced(connection)
    for table, condition in ((RESULTS, "true"), (RAW, _HAS_DURATIONS), (JOBS, "job IS NOT NULL")):
        connection.execute(
            f"INSERT INTO {table.name} BY NAME SELECT {table.names} FROM taken WHERE {condition}"
        )
    for statement in statements():
        connection.execute(statement)
    for run in runs:
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


def _refused(connection: DuckDBPyConnection) -> tuple[str, ...]:
    found = connection.execute(
        f"SELECT result_id FROM incoming WHERE NOT {_REAL} ORDER BY result_id"
    ).fetchall()
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
