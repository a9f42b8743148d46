"""Checks of records before they are merged, and the summary of a file of them."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.connect import duckdb_message, has_rows, interruptible
from orchestrator.store.health.checks import RECORD_CHECKS, RecordCheck
from orchestrator.store.health.derived import with_derived
from orchestrator.store.health.validate import define_conditions, define_sentences, suspected
from orchestrator.store.merge.staging import leave_out, stage
from orchestrator.store.records.validate import Damaged, one_line
from orchestrator.store.schema.parquet_columns import KNOWN

CLOCK_TOLERANCE = timedelta(days=1)
"""Time by which a record may be ahead of this machine's clock, which may have been set back or be
in another zone; `database check` names what is still ahead later."""
_NAMED = 3
"""Records of a file that are named in the reason why they are left out."""
_NEEDED = "false"
"""A statistic that is missing is not impossible, and `--fix` fills it."""
_CHECKS = tuple(check for check in RECORD_CHECKS if check.at_entry)
_SUSPECTS = with_derived(
    "(SELECT * FROM incoming SEMI JOIN suspects USING (filename, file_row_number))", _NEEDED
)
_MAKE_IMPOSSIBLE = """
    CREATE OR REPLACE TEMP TABLE impossible (
        filename VARCHAR, file_row_number BIGINT, result_id VARCHAR, reason VARCHAR)
"""
_BY_FILE = f"""
    WITH records AS (
        SELECT filename, file_row_number, any_value(result_id) AS result_id,
            string_agg(reason, '; ') AS reasons
        FROM impossible GROUP BY filename, file_row_number
    )
    SELECT filename, count(*) AS faulty, any_value(total) AS total,
        list(result_id || ': ' || reasons ORDER BY file_row_number)[:{_NAMED}] AS examples
    FROM records
    JOIN (SELECT filename, count(*) AS total FROM incoming GROUP BY filename) USING (filename)
    GROUP BY filename ORDER BY filename
"""


def leave_out_impossible(
    connection: DuckDBPyConnection, columns: Collection[str] = KNOWN, moment: datetime | None = None
) -> list[Damaged]:
    """Take records that no measurement can have given out of `incoming`; returns their files.

    Only these columns have values, or the default of a column that is never null.
    """
    if not has_rows(connection, "incoming"):
        return []
    define_conditions(connection, moment or datetime.now(UTC) + CLOCK_TOLERANCE)
    connection.execute(_find_suspects(frozenset(columns)))
    connection.execute(_MAKE_IMPOSSIBLE)
    if has_rows(connection, "suspects"):
        define_sentences(connection)
        for check in suspected(connection, _CHECKS, _SUSPECTS):
            connection.execute(_find_impossible(check))
    damaged = []
    if has_rows(connection, "impossible"):
        for name, faulty, total, examples in connection.execute(_BY_FILE).fetchall():
            shown = "; ".join(map(one_line, examples))
            more = f"; and {faulty - len(examples)} more" if faulty > len(examples) else ""
            records = None if faulty == total else faulty
            damaged.append(Damaged(Path(name), f"{shown}{more}", records))
        leave_out(connection, "impossible")
    connection.execute("DROP TABLE suspects; DROP TABLE impossible")
    return damaged


@cache
def _find_suspects(columns: frozenset[str]) -> str:
    """One scan for all checks, since most files are sound; few records need a sentence."""
    conditions = filter(None, (check.condition_in(columns) for check in _CHECKS))
    return f"""
        CREATE OR REPLACE TEMP TABLE suspects AS {with_derived("incoming", _NEEDED, columns)}
        SELECT filename, file_row_number FROM records r WHERE ({") OR (".join(conditions)})
    """


def _find_impossible(check: RecordCheck) -> str:
    severity = f"CASE WHEN is_ours(source) THEN '{check.severity}' ELSE '{check.imported}' END"
    return f"""
        INSERT INTO impossible {_SUSPECTS}
        SELECT filename, file_row_number, result_id, {text(check.name)} || ': ' || fault FROM (
            SELECT filename, file_row_number, result_id, source, {check.fault} AS fault
            FROM records r WHERE {check.condition}
        ) WHERE fault <> '' AND {severity} = 'error'
    """


_IDS = ("run_id", "hardware_id", "environment_id")
_SUMMARY = f"""
    SELECT count(*), count(*) - count(DISTINCT result_id), count(DISTINCT hostname),
        {", ".join(f"list(DISTINCT {name}) FILTER ({name} IS NOT NULL)" for name in _IDS)}
    FROM incoming
"""


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
            staged = stage(connection, [path])
            if staged.damaged:
                return staged.damaged[0].reason
            ((records, repeated, hosts, *ids),) = connection.execute(_SUMMARY).fetchall()
            impossible = leave_out_impossible(connection, staged.columns)
        except duckdb.Error as error:
            return duckdb_message(error)
    runs, hardware, environments = (frozenset(names or ()) for names in ids)
    first = impossible[0] if impossible else None
    return RecordSummary(records, repeated, hosts, runs, hardware, environments, first)
