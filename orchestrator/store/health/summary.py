"""Summary of a file of records, which says whether it can be merged and what would be left out."""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from orchestrator.store.database.connect import duckdb_message, fetch, interruptible
from orchestrator.store.health.incoming import leave_out_impossible
from orchestrator.store.merge.staging import stage
from orchestrator.store.records.validate import Damaged


def _distinct(column: str) -> str:
    return f"coalesce(list(DISTINCT {column}) FILTER ({column} IS NOT NULL), [])"


_SUMMARY = """
    SELECT count(*) AS records, count(*) - count(DISTINCT result_id) AS repeated,
        count(DISTINCT hostname) AS hosts,
        {runs} AS runs, {hardware} AS hardware, {environments} AS environments
    FROM incoming
""".format(
    runs=_distinct("run_id"),
    hardware=_distinct("hardware_id"),
    environments=_distinct("environment_id"),
)


@dataclass(frozen=True)
class RecordSummary:
    """The content of a file of records."""

    records: int
    repeated: int
    """Records whose id another one has."""
    hosts: int
    runs: frozenset[str]
    hardware: frozenset[str]
    environments: frozenset[str]
    impossible: Damaged | None
    """The records that no measurement can have given, which a merge leaves out."""


@interruptible()
def summarise_records(path: Path) -> RecordSummary | str:
    """The content of a file, or the reason why it cannot be merged."""
    with duckdb.connect() as connection:
        try:
            damaged = stage(connection, [path])
            if damaged:
                return damaged[0].reason
            (row,) = fetch(connection, _SUMMARY)
            impossible = leave_out_impossible(connection)
        except duckdb.Error as error:
            return duckdb_message(error)
    return RecordSummary(
        row["records"],
        row["repeated"],
        row["hosts"],
        frozenset(row["runs"]),
        frozenset(row["hardware"]),
        frozenset(row["environments"]),
        impossible[0] if impossible else None,
    )
