"""Checks of records before they are merged, and the summary of a file of them."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.connect import duckdb_message, fetch, interruptible
from orchestrator.store.health.checks import RECORD_CHECKS, RecordCheck, with_derived
from orchestrator.store.health.validate import define_conditions, define_sentences, suspected
from orchestrator.store.merge.staging import leave_out, stage
from orchestrator.store.records.validate import REASON_LETTERS, Damaged

CLOCK_TOLERANCE = timedelta(days=1)
"""Time by which a record may be ahead of this machine's clock, which may have been set back or be
in another zone; `database check` names what is still ahead later."""
_NAMED = 3
"""Records of a file that are named in the reason why they are left out."""
_NEEDED = "false"
"""A statistic that is missing is not impossible, and `--fix` fills it."""
_CHECKS = tuple(check for check in RECORD_CHECKS if check.at_entry)
_SUSPECT = " OR ".join(f"({check.condition})" for check in _CHECKS)
_FIND_SUSPECTS = f"""
    CREATE OR REPLACE TEMP TABLE suspects AS {with_derived("incoming", _NEEDED)}
    SELECT filename, file_row_number FROM records r WHERE {_SUSPECT}
"""
"""One scan for all checks, since most files are sound; few records need a sentence."""
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
    connection: DuckDBPyConnection, moment: datetime | None = None
) -> list[Damaged]:
    """Take records that no measurement can have given out of `incoming`; returns their files.

    None was recorded after `moment`; without one it is a day from now.
    """
    if not _has_rows(connection, "incoming"):
        return []
    define_conditions(connection, moment or datetime.now(UTC) + CLOCK_TOLERANCE)
    connection.execute(_FIND_SUSPECTS)
    connection.execute(_MAKE_IMPOSSIBLE)
    if _has_rows(connection, "suspects"):
        define_sentences(connection)
        for check in suspected(connection, _CHECKS, _SUSPECTS):
            connection.execute(_find_impossible(check))
    damaged = []
    if _has_rows(connection, "impossible"):
        rows = connection.execute(_BY_FILE).fetchall()
        damaged = [_describe(*row) for row in rows]
        leave_out(connection, "impossible")
    connection.execute("DROP TABLE suspects; DROP TABLE impossible")
    return damaged


def _find_impossible(check: RecordCheck) -> str:
    """The statement that adds the faulty records of a check, where its findings are errors."""
    severity = f"CASE WHEN is_ours(source) THEN '{check.severity}' ELSE '{check.imported}' END"
    return f"""
        INSERT INTO impossible {_SUSPECTS}
        SELECT filename, file_row_number, result_id, {text(check.name)} || ': ' || fault FROM (
            SELECT filename, file_row_number, result_id, source, {check.fault} AS fault
            FROM records r WHERE {check.condition}
        ) WHERE fault <> '' AND {severity} = 'error'
    """


def _has_rows(connection: DuckDBPyConnection, table: str) -> bool:
    return bool(connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall())


def _describe(name: str, faulty: int, total: int, examples: list[str]) -> Damaged:
    shown = "; ".join(_short(example) for example in examples)
    more = f"; and {faulty - len(examples)} more" if faulty > len(examples) else ""
    return Damaged(Path(name), f"{shown}{more}", None if faulty == total else faulty)


def _short(reason: str) -> str:
    return reason if len(reason) <= REASON_LETTERS else f"{reason[:REASON_LETTERS]}…"


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
