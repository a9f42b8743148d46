"""Validation of a database: the findings of all checks."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.health.checks.all_checks import CHECKS
from orchestrator.store.health.checks.check import (
    Check,
    RecordCheck,
    Severity,
    read_sql,
    records_in_database,
)
from orchestrator.store.schema.definition import (
    foreign_relations,
    retyped_columns,
    schema_differences,
)

ALTERED = "defined otherwise"
RETYPED = "column of another type"
FOREIGN = "made by somebody else"
EXAMPLES = 5
"""Reported of each finding, however many rows it has."""
_LEFT = "the imported file says so; `--fix` leaves it as it is"


@dataclass(frozen=True)
class Finding:
    """The rows of one source in which one check found something."""

    check: str
    severity: Severity
    source: str | None
    """The project that measured; None: ours, or it is the database itself."""
    rows: int
    examples: tuple[str, ...]
    """Some of the rows, each with its fault."""
    remedy: str
    """Advice on what to do about it."""


def find_all(connection: DuckDBPyConnection, now: datetime) -> tuple[Finding, ...]:
    """Everything that is wrong, or worth knowing; in the order of the checks."""
    define_macros(connection, now)
    altered = schema_differences(connection)
    wrong = retyped_columns(altered)
    checks = _suspected_of(connection, _possible(_result_views(connection), wrong))
    findings = [finding for check in checks for finding in _findings(connection, check)]
    return (*findings, *_of_definition(connection, altered, wrong))


def define_macros(connection: DuckDBPyConnection, now: datetime) -> None:
    """Give the connection the macros and variables that the checks' SQL names."""
    define_conditions(connection, now)
    define_sentences(connection)


def define_conditions(connection: DuckDBPyConnection, now: datetime) -> None:
    """Give the connection those that the conditions of checks name."""
    connection.execute(f"SET VARIABLE moment = TIMESTAMPTZ {text(now.isoformat())}")
    connection.execute(read_sql("conditions"))


def define_sentences(connection: DuckDBPyConnection) -> None:
    """Give it the others, which are of use where a row fulfils a condition."""
    connection.execute(read_sql("rounding"))


def _result_views(connection: DuckDBPyConnection) -> frozenset[str]:
    """The views that can be asked for results."""
    rows = connection.execute(
        "SELECT view_name FROM duckdb_views() v JOIN duckdb_columns() c"
        " ON c.table_name = v.view_name AND c.column_name = 'result_id' WHERE NOT v.internal"
    ).fetchall()
    return frozenset(name for (name,) in rows)


def _possible(views: frozenset[str], wrong: Collection[str]) -> list[Check]:
    """The checks that read neither a missing view nor a column of another type."""
    if not wrong:
        return [check for check in CHECKS if views.issuperset(check.views)]
    columns = "|".join(name.rpartition(".")[2] for name in wrong)
    reads_wrong = re.compile(rf"\b({columns})\b")
    return [check for check in CHECKS if not check.views and not reads_wrong.search(check.query)]


def _suspected_of(connection: DuckDBPyConnection, checks: Sequence[Check]) -> list[Check]:
    """The checks without those of single records that every record passes.

    DuckDB takes far longer to plan the sentences of a check than to try all conditions.
    """
    passed: set[Check] = set()
    for timed in (False, True):
        alike = [check for check in checks if isinstance(check, RecordCheck)]
        alike = [check for check in alike if check.timed is timed]
        passed |= {*alike} - {*suspected(connection, alike, records_in_database(timed=timed))}
    return [check for check in checks if check not in passed]


def suspected(
    connection: DuckDBPyConnection, checks: Sequence[RecordCheck], records: str
) -> list[RecordCheck]:
    """The checks whose condition a record fulfils; the clause `records` names them all."""
    if not checks:
        return []
    conditions = ", ".join(f"bool_or({check.condition})" for check in checks)
    ((*answers,),) = connection.execute(f"{records} SELECT {conditions} FROM records r").fetchall()
    return [check for check, answer in zip(checks, answers, strict=True) if answer]


def _findings(connection: DuckDBPyConnection, check: Check) -> list[Finding]:
    rows = connection.execute(f"""
        SELECT CASE WHEN NOT is_ours(source) THEN source END AS source, count(*),
            min(subject || coalesce(': ' || fault, ''), {EXAMPLES})
        FROM ({check.query}) GROUP BY ALL ORDER BY source NULLS FIRST
    """).fetchall()
    return [_finding(check, *row) for row in rows]


def _finding(check: Check, source: str | None, rows: int, examples: Sequence[str]) -> Finding:
    severity = check.severity if source is None else check.imported
    stays = source is not None and severity not in (check.severity, "error")
    return Finding(
        check.name, severity, source, rows, tuple(examples), _LEFT if stays else check.remedy
    )


def _of_definition(
    connection: DuckDBPyConnection, altered: Mapping[str, str], wrong: Mapping[str, str]
) -> list[Finding]:
    others = {name: change for name, change in altered.items() if name not in wrong}
    findings = (
        _about(ALTERED, "error", _described(others), "`--fix` makes views and comments anew"),
        _about(
            RETYPED,
            "error",
            _described(wrong),
            "what asks for it was not checked, and `--fix` changes nothing: merge the record files"
            " into a new database",
        ),
        _about(
            FOREIGN,
            "note",
            foreign_relations(connection),
            "AccelMatrix neither reads nor changes it",
        ),
    )
    return [finding for finding in findings if finding.rows]


def _described(altered: Mapping[str, str]) -> list[str]:
    return [f"{name} {change}" for name, change in altered.items()]


def _about(check: str, severity: Severity, examples: Sequence[str], remedy: str) -> Finding:
    return Finding(check, severity, None, len(examples), tuple(examples[:EXAMPLES]), remedy)
