"""Rows that were damaged in the database are taken again from the record files behind it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.health.checks.times import LATER
from orchestrator.store.merging.dimensions import describe_shared
from orchestrator.store.merging.merge import QUARANTINED, REAL, insert_taken
from orchestrator.store.merging.record_files import find_files
from orchestrator.store.merging.staging import stage
from orchestrator.store.schema.columns import text
from orchestrator.store.schema.tables import JOBS, RAW, RESULTS, RUNS

IMPORTS = "imports"
"""The folder of imported records, among those of the runs."""
_RUNS = f"""
    SELECT DISTINCT split_part(subject, '/', 1) AS run_id FROM faults
    WHERE table_name <> {text(RUNS.name)} ORDER BY run_id
"""
_TAKEN = f"""
    CREATE OR REPLACE TEMP TABLE restored AS
    SELECT filename, file_row_number, result_id FROM incoming
    WHERE result_id IN (SELECT subject FROM faults WHERE table_name <> {text(RUNS.name)})
        AND {{welcome}} AND recorded_at <= {LATER} AND NOT {QUARANTINED}
        AND NOT EXISTS (SELECT 1 FROM {RESULTS.name} r WHERE r.result_id = incoming.result_id
            AND r.recorded_at > incoming.recorded_at AND r.recorded_at <= {LATER})
    QUALIFY row_number() OVER (
        PARTITION BY result_id ORDER BY recorded_at DESC, filename, file_row_number) = 1
"""
_VIEW = """
    CREATE OR REPLACE TEMP VIEW taken AS
    SELECT * FROM incoming SEMI JOIN restored USING (filename, file_row_number)
"""


def stage_records(connection: DuckDBPyConnection, results: Path | None) -> None:
    """The temporary relation `incoming`: the records, where they are, of the runs with `faults`.

    Apart from the transaction that restores them, since a damaged file would end it.
    """
    runs = [run_id for (run_id,) in connection.execute(_RUNS).fetchall()]
    stage(connection, find_files(_places(results, runs)) if results else [])


def restore(connection: DuckDBPyConnection, *, scratch: bool) -> int:
    """Replace the results that have faults by their records; returns how many."""
    connection.execute(_TAKEN.format(welcome="true" if scratch else REAL))
    connection.execute(_VIEW)
    for table in (RESULTS, RAW, JOBS):
        connection.execute(
            f"DELETE FROM {table.name} WHERE result_id IN (SELECT result_id FROM restored)"
        )
    insert_taken(connection)
    describe_shared(connection, "taken")
    ((count,),) = connection.execute("SELECT count(*) FROM restored").fetchall()
    return int(count)


def _places(results: Path, runs: Sequence[str]) -> Iterator[Path]:
    for run_id in runs:
        for place in (results / run_id, results / IMPORTS / f"{run_id}.parquet"):
            if place.exists():
                yield place
