"""Record files that the database has already: looking at three columns tells."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.merging.bystander import Bystander, offering
from orchestrator.store.merging.staging import FILES_AT_ONCE, are_small
from orchestrator.store.schema.shapes import literals
from orchestrator.store.schema.tables import RESULTS

_OFFERED = """
    SELECT filename, run_id, run_id || '/' || cell_id AS result_id, recorded_at
    FROM read_parquet([{files}], filename = true, hive_partitioning = false)
"""
_KNOWN = f"""
    SELECT filename, count(*) FROM offered LEFT JOIN (
        SELECT result_id, recorded_at AS known_at FROM {RESULTS.name}
        WHERE run_id IN (SELECT DISTINCT run_id FROM offered)
    ) USING (result_id)
    GROUP BY filename HAVING bool_and(recorded_at IS NOT DISTINCT FROM known_at)
"""


def known_files(connection: DuckDBPyConnection, files: Sequence[Path]) -> Mapping[Path, int]:
    """How many records are in each file of which the database has all, of the same moment.

    Large files are not asked, nor are those beside a damaged one: who reads them whole finds out.
    """
    known: dict[Path, int] = {}
    if not are_small(files) or not _has_results(connection):
        return known
    with Bystander() as own:
        for first in range(0, len(files), FILES_AT_ONCE):
            known |= _known_among(own, connection, files[first : first + FILES_AT_ONCE])
    return known


def _known_among(
    own: Bystander, connection: DuckDBPyConnection, files: Sequence[Path]
) -> dict[Path, int]:
    try:
        offered = own.table(_OFFERED.format(files=literals(files)))
    except duckdb.Error:
        return {}
    with offering(connection, "offered", offered):
        found = connection.execute(_KNOWN).fetchall()
    return {Path(name): count for name, count in found}


def _has_results(connection: DuckDBPyConnection) -> bool:
    return bool(connection.execute(f"SELECT 1 FROM {RESULTS.name} LIMIT 1").fetchall())
