"""Validation of a database: the findings of all checks, and definitions that differ from ours."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache

import duckdb
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.health.checks import CHECKS, Check, RecordCheck, Severity
from orchestrator.store.health.derived import read_sql, records_in_database
from orchestrator.store.schema.tables import TABLES, comments
from orchestrator.store.schema.views import VIEWS

ALTERED = "defined otherwise"
RETYPED = "column of another type"
FOREIGN = "made by somebody else"
EXAMPLES = 5
"""Reported of each finding, however many rows it has."""
_LEFT = "the imported file says so; `--fix` leaves it as it is"
_RESULT_VIEWS = """
    SELECT view_name FROM duckdb_views() v JOIN duckdb_columns() c
    ON c.table_name = v.view_name AND c.column_name = 'result_id' WHERE NOT v.internal
"""
"""The views that can be asked for results."""


@dataclass(frozen=True)
class Finding:
    """The rows of one source in which one check found something."""

    check: str
    severity: Severity
    source: str | None
    """The project that measured; None: ours, or it is the database itself."""
    rows: int
    examples: tuple[str, ...]
    remedy: str


def find_all(connection: DuckDBPyConnection, now: datetime) -> tuple[Finding, ...]:
    define_conditions(connection, now)
    define_sentences(connection)
    altered = schema_differences(connection)
    ours = {f"{table.name}.{column.name}" for table in TABLES for column in table.columns}
    retyped = {name for name, how in altered.items() if name in ours and how.startswith(_IS)}
    checks = _suspected_of(connection, _possible(connection, retyped))
    return (
        *(finding for check in checks for finding in _findings(connection, check)),
        *_of_definition(connection, altered, retyped),
    )


def define_conditions(connection: DuckDBPyConnection, now: datetime) -> None:
    """Give the connection the macros and variables that the conditions of checks name."""
    connection.execute(f"SET VARIABLE moment = TIMESTAMPTZ {text(now.isoformat())}")
    connection.execute(read_sql("conditions"))


def define_sentences(connection: DuckDBPyConnection) -> None:
    """Give it the others, which are of use where a row fulfils a condition."""
    connection.execute(read_sql("rounding"))


def _possible(connection: DuckDBPyConnection, retyped: Collection[str]) -> list[Check]:
    if not retyped:
        views = {name for (name,) in connection.execute(_RESULT_VIEWS).fetchall()}
        return [check for check in CHECKS if views.issuperset(check.views)]
    columns = "|".join(name.rpartition(".")[2] for name in retyped)
    reads_them = re.compile(rf"\b({columns})\b")
    return [check for check in CHECKS if not check.views and not reads_them.search(check.query)]


def _suspected_of(connection: DuckDBPyConnection, checks: Sequence[Check]) -> list[Check]:
    """The checks without those of records that pass: to plan their sentences takes far longer."""
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
    findings = []
    for source, count, examples in rows:
        severity = check.severity if source is None else check.imported
        stays = source is not None and severity not in (check.severity, "error")
        remedy = _LEFT if stays else check.remedy
        findings.append(Finding(check.name, severity, source, count, tuple(examples), remedy))
    return findings


def _of_definition(
    connection: DuckDBPyConnection, altered: Mapping[str, str], retyped: Collection[str]
) -> list[Finding]:
    others = [f"{name} {change}" for name, change in altered.items() if name not in retyped]
    wrong = [f"{name} {change}" for name, change in altered.items() if name in retyped]
    ours = {relation.name for relation in (*TABLES, *VIEWS)}
    relations = connection.execute(f"SELECT name FROM ({_RELATIONS}) ORDER BY name").fetchall()
    foreign = [name for (name,) in relations if name not in ours]
    findings: tuple[tuple[str, Severity, list[str], str], ...] = (
        (ALTERED, "error", others, "`--fix` makes views and comments anew"),
        (
            *(RETYPED, "error", wrong),
            "what asks for it was not checked, and `--fix` changes nothing: merge the record files"
            " into a new database",
        ),
        (FOREIGN, "note", foreign, "AccelMatrix neither reads nor changes it"),
    )
    return [
        Finding(check, severity, None, len(names), tuple(names[:EXAMPLES]), remedy)
        for check, severity, names, remedy in findings
        if names
    ]


_OF_USERS = "WHERE NOT internal AND NOT temporary"
_RELATIONS = f"""
    SELECT table_name AS name, 'table' AS kind, NULL AS sql, comment FROM duckdb_tables()
    {_OF_USERS}
    UNION ALL SELECT view_name, 'view', sql, comment FROM duckdb_views() {_OF_USERS}
"""
_COLUMNS = """
    SELECT table_name || '.' || column_name AS name, data_type, comment FROM duckdb_columns()
    WHERE NOT internal AND database_name NOT IN ('temp', 'system')
"""
_IS = "is "
_Definition = Mapping[str, tuple[str | None, ...]]


def schema_differences(connection: DuckDBPyConnection) -> dict[str, str]:
    """Tables, views and columns that were altered by hand, with their differences."""
    differences, actual = {}, _definition(connection)
    for name, (first, *facts, comment) in sorted(_expected().items()):
        if name not in actual:
            differences[name] = "is missing"
            continue
        actual_first, *actual_facts, actual_comment = actual[name]
        if actual_first != first:
            differences[name] = f"{_IS}{actual_first}, not {first}"
        elif actual_facts != facts:
            differences[name] = "asks something else"
        elif actual_comment != comment:
            differences[name] = "has another comment"
    return differences


@cache
def _expected() -> _Definition:
    """The definition as the code has it; to make the comments would take eight times as long."""
    relations = (*TABLES, *VIEWS)
    comments_ = {relation.name: relation.doc for relation in relations} | {
        f"{relation.name}.{column.name}": column.doc
        for relation in relations
        for column in relation.columns
    }
    with duckdb.connect() as connection:
        for relation in relations:
            connection.execute(relation.create)
        definition = _definition(connection)
    return {name: (*facts, comments_[name]) for name, (*facts, _) in definition.items()}


def _definition(connection: DuckDBPyConnection) -> _Definition:
    relations = connection.execute(_RELATIONS).fetchall()
    columns = connection.execute(_COLUMNS).fetchall()
    return {name: tuple(facts) for name, *facts in (*relations, *columns)}


def redefine_views(connection: DuckDBPyConnection) -> None:
    """Make views and comments as the code has them; tables keep their columns."""
    rows = connection.execute(f"SELECT view_name FROM duckdb_views() {_OF_USERS}").fetchall()
    existing = {name for (name,) in rows}
    for view in VIEWS:
        if view.name in existing:
            connection.execute(f"DROP VIEW {view.name}")
    for view in VIEWS:
        connection.execute(view.ddl)
    for table in TABLES:
        for comment in comments("TABLE", table.name, table.doc, table.columns):
            connection.execute(comment)
