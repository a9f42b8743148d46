"""Quarantine: rows that nothing can repair are kept aside whole, and no merge brings them back."""

from collections.abc import Collection, Iterator, Sequence

from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.health.checks.all_checks import CHECKS
from orchestrator.store.health.checks.check import Check
from orchestrator.store.schema.columns import SqlColumn
from orchestrator.store.schema.tables import (
    ACCEPTED,
    DURATIONS,
    JOB,
    JOBS,
    QUARANTINE,
    RAW,
    RESULTS,
    RUNS,
    Table,
)

_ACCEPTANCE = ("because", "accepted_at", "accepted_by")
_FAULTS = """
    CREATE OR REPLACE TEMP TABLE faults (
        table_name VARCHAR, row_id BIGINT, subject VARCHAR, reason VARCHAR)
"""


def find_faults(connection: DuckDBPyConnection, names: Collection[str]) -> None:
    """Make the temporary table `faults`: rows with an error of these checks that may be moved."""
    connection.execute(_FAULTS)
    for check in CHECKS:
        if check.table is not None and check.name in names:
            connection.execute(
                f"INSERT INTO faults SELECT {text(check.table)}, row_id, subject,"
                f" {text(check.name)} || coalesce(': ' || fault, '')"
                f" FROM ({check.query}) WHERE {_is_error(check)}"
            )


def quarantine(connection: DuckDBPyConnection) -> int:
    """Move the rows of `faults` into the table `quarantine`; returns how many."""
    before = _count(connection)
    for table, statement in (
        (RAW, _move(RAW, _OWNER)),
        (JOBS, _move(JOBS, _OWNER)),
        (ACCEPTED, _move(ACCEPTED, _OWNER)),
        (RESULTS, _MOVE_RESULTS),
        (RUNS, _move(RUNS, "NULL AS result_id, o.run_id")),
    ):
        connection.execute(statement)
        connection.execute(f"DELETE FROM {table.name} WHERE rowid IN ({_faulty(table)})")
    for table in (RAW, JOBS, ACCEPTED):
        connection.execute(
            f"DELETE FROM {table.name} WHERE result_id IN ("
            f"SELECT subject FROM faults WHERE table_name = {text(RESULTS.name)})"
            f" AND result_id NOT IN (SELECT result_id FROM {RESULTS.name})"
        )
    return _count(connection) - before


def _is_error(check: Check) -> str:
    ours = "(source IS NULL OR is_ours(source))"
    if check.severity == check.imported:
        return "true"
    return ours if check.severity == "error" else f"NOT {ours}"


def _count(connection: DuckDBPyConnection) -> int:
    ((count,),) = connection.execute(f"SELECT count(*) FROM {QUARANTINE.name}").fetchall()
    return int(count)


def _faulty(table: Table) -> str:
    return f"SELECT row_id FROM faults WHERE table_name = {text(table.name)}"


def _reasons(table: Table) -> str:
    return (
        "(SELECT row_id, string_agg(reason, '; ' ORDER BY reason) AS reason FROM faults"
        f" WHERE table_name = {text(table.name)} GROUP BY row_id) f"
    )


_OWNER = "o.result_id, split_part(o.result_id, '/', 1) AS run_id"


def _move(table: Table, owner: str) -> str:
    return f"""
        INSERT INTO {QUARANTINE.name} BY NAME
        SELECT {owner}, {text(table.name)} AS table_name, f.reason,
            getvariable('moment') AS quarantined_at, {_content("o", table.columns)} AS content
        FROM {_reasons(table)} JOIN {table.name} o ON o.rowid = f.row_id
    """


def _content(alias: str, columns: Sequence[SqlColumn], *more: str) -> str:
    fields = [
        f"{text(column.name)}: {_value(f'{alias}.{column.name}', column)}" for column in columns
    ]
    return f"to_json({{{', '.join([*fields, *more])}}})::VARCHAR"


def _value(name: str, column: SqlColumn) -> str:
    """The column as JSON can hold it: a number that is not finite becomes its name."""
    if column.type != "DOUBLE":
        return name
    return f"CASE WHEN isfinite({name}) THEN to_json({name}) ELSE to_json({name}::VARCHAR) END"


def _of_others() -> Iterator[str]:
    for alias, columns in (("d", DURATIONS), ("j", (JOB,)), ("a", _ACCEPTANCE)):
        yield from (f"{text(name)}: {alias}.{name}" for name in columns)


def _beside(table: Table, alias: str) -> str:
    """Another table's rows of results of which no row stays."""
    return (
        f"LEFT JOIN (SELECT * FROM {table.name} WHERE result_id NOT IN (SELECT result_id"
        f" FROM {RESULTS.name} WHERE rowid NOT IN ({_faulty(RESULTS)}))) {alias}"
        f" ON {alias}.result_id = r.result_id"
    )


_MOVE_RESULTS = f"""
    INSERT INTO {QUARANTINE.name} BY NAME
    SELECT r.result_id, r.run_id, {text(RESULTS.name)} AS table_name, f.reason,
        getvariable('moment') AS quarantined_at, r.recorded_at,
        {_content("r", RESULTS.columns, *_of_others())} AS content
    FROM {_reasons(RESULTS)} JOIN {RESULTS.name} r ON r.rowid = f.row_id
    {_beside(RAW, "d")} {_beside(JOBS, "j")} {_beside(ACCEPTED, "a")}
"""
