"""Whether the database is sound: what every check finds in it."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from duckdb import DuckDBPyConnection

from orchestrator.store.health.checks import CHECKS, FUNCTIONS, Check, Severity
from orchestrator.store.health.checks.check import own
from orchestrator.store.schema.columns import text
from orchestrator.store.schema.version import differences, foreign, retyped

ALTERED = "defined otherwise"
RETYPED = "column of another type"
FOREIGN = "made by somebody else"
LEFT = "the imported file says so; `--fix` leaves it as it is"
EXAMPLES = 5
"""Told of each finding, however many rows it has."""


@dataclass(frozen=True)
class Finding:
    """What one check found in the rows of one source."""

    check: str
    severity: Severity
    source: str | None
    """Who measured; None: we, or it is the database itself."""
    rows: int
    examples: tuple[str, ...]
    """Some of the rows, each with what is wrong."""
    remedy: str
    """What to do about it."""


def validate(connection: DuckDBPyConnection, now: datetime) -> tuple[Finding, ...]:
    """Everything that is wrong, or worth knowing; in the order of the checks."""
    prepare(connection, now)
    altered = differences(connection)
    wrong = retyped(altered)
    checks = _that_can_be_made(_views(connection), wrong)
    found = [finding for check in checks for finding in _findings(connection, check)]
    return (*found, *_of_definition(connection, altered, wrong))


def prepare(connection: DuckDBPyConnection, now: datetime) -> None:
    """Give the connection what the checks' SQL calls by name."""
    connection.execute(f"SET VARIABLE moment = TIMESTAMPTZ {text(now.isoformat())}")
    for function in FUNCTIONS:
        connection.execute(function)


def _views(connection: DuckDBPyConnection) -> frozenset[str]:
    """The views that can be asked for results."""
    found = connection.execute(
        "SELECT view_name FROM duckdb_views() v JOIN duckdb_columns() c"
        " ON c.table_name = v.view_name AND c.column_name = 'result_id' WHERE NOT v.internal"
    ).fetchall()
    return frozenset(name for (name,) in found)


def _that_can_be_made(views: frozenset[str], wrong: Collection[str]) -> list[Check]:
    """The checks that ask neither a view which is not there nor a column of another type."""
    if not wrong:
        return [check for check in CHECKS if views.issuperset(check.asks)]
    columns = "|".join(name.rpartition(".")[2] for name in wrong)
    asks_wrong = re.compile(rf"\b({columns})\b")
    return [check for check in CHECKS if not check.asks and not asks_wrong.search(check.query)]


def _findings(connection: DuckDBPyConnection, check: Check) -> list[Finding]:
    rows = connection.execute(f"""
        SELECT CASE WHEN NOT {own()} THEN source END AS source, count(*),
            min(subject || coalesce(': ' || told, ''), {EXAMPLES})
        FROM ({check.query}) GROUP BY ALL ORDER BY source NULLS FIRST
    """).fetchall()
    return [_finding(check, *row) for row in rows]


def _finding(check: Check, source: str | None, rows: int, examples: Sequence[str]) -> Finding:
    severity = check.severity if source is None else check.imported
    stays = source is not None and severity not in (check.severity, "error")
    return Finding(
        check.name, severity, source, rows, tuple(examples), LEFT if stays else check.remedy
    )


def _of_definition(
    connection: DuckDBPyConnection, altered: Mapping[str, str], wrong: Mapping[str, str]
) -> list[Finding]:
    others = {name: how for name, how in altered.items() if name not in wrong}
    findings = (
        _about(ALTERED, "error", _told(others), "`--fix` makes views and comments anew"),
        _about(
            RETYPED,
            "error",
            _told(wrong),
            "what asks for it was not checked, and `--fix` mends nothing: merge the record files"
            " into a new database",
        ),
        _about(FOREIGN, "note", foreign(connection), "AccelMatrix neither reads nor changes it"),
    )
    return [finding for finding in findings if finding.rows]


def _told(altered: Mapping[str, str]) -> list[str]:
    return [f"{name} {how}" for name, how in altered.items()]


def _about(check: str, severity: Severity, found: Sequence[str], remedy: str) -> Finding:
    return Finding(check, severity, None, len(found), tuple(found[:EXAMPLES]), remedy)
