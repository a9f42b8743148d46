"""What a file of records holds, looked at as closely as a merge would."""

from dataclasses import dataclass
from pathlib import Path

import duckdb

from orchestrator.store.file.explaining import explain, interruptible
from orchestrator.store.file.rows import fetch
from orchestrator.store.merging.staging import stage


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
class Examined:
    """What a file of sound records holds."""

    records: int
    repeated: int
    """Records whose id another one has."""
    hosts: int
    runs: frozenset[str]
    hardware: frozenset[str]
    environments: frozenset[str]


@interruptible()
def examine(path: Path) -> Examined | str:
    """What the file holds, or what keeps it from being merged."""
    with duckdb.connect() as connection:
        try:
            damaged = stage(connection, [path])
            if damaged:
                return damaged[0].reason
            (row,) = fetch(connection, _SUMMARY)
        except duckdb.Error as error:
            return explain(error)
    return Examined(
        row["records"],
        row["repeated"],
        row["hosts"],
        frozenset(row["runs"]),
        frozenset(row["hardware"]),
        frozenset(row["environments"]),
    )
