"""The first half of a merge: read record files in bulk, and set aside what is damaged."""

import re
from collections.abc import Sequence
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.columns import Column, names, text
from orchestrator.store.record_files import fault, shape_fault
from orchestrator.store.report import Damaged
from orchestrator.store.tables import RECORD
from runner.record import SCHEMA_VERSION

_STAGED = ", ".join(f"{column.name} {column.type}" for column in RECORD)
_CREATE = f"""
    CREATE OR REPLACE TEMP TABLE incoming (result_id VARCHAR, filename VARCHAR, {_STAGED})
"""
_READ = f"""
    INSERT INTO incoming
    SELECT run_id || '/' || cell_id, filename, {names(RECORD)}
    FROM read_parquet($files, filename=true, hive_partitioning=false)
"""
_SHAPES = """
    SELECT list(file_name) FROM (
        SELECT file_name,
            sum(hash({'name': name, 'type': type, 'repetition': repetition_type,
                'children': num_children, 'logical': logical_type})) AS shape
        FROM parquet_schema($files) GROUP BY file_name)
    GROUP BY shape
"""


def stage(connection: DuckDBPyConnection, files: Sequence[Path]) -> list[Damaged]:
    """Fill the temporary table `incoming` with the rows of all sound files; returns the others.

    Raises:
        duckdb.Error: reading failed, and not because of a file.
    """
    try:
        damaged = _wrong_shapes(connection, files)
        _read(connection, _without(files, damaged))
    except duckdb.Error:
        damaged = _damaged(files)
        if not damaged:
            raise
        _read(connection, _without(files, damaged))
    return damaged + _set_aside_unsound(connection)


def _read(connection: DuckDBPyConnection, files: Sequence[Path]) -> None:
    connection.execute(_CREATE)
    if files:
        connection.execute(_READ, {"files": [_literal(file) for file in files]})


def _wrong_shapes(connection: DuckDBPyConnection, files: Sequence[Path]) -> list[Damaged]:
    """Files whose columns are not a record's: one file of each shape is looked at closely."""
    if not files:
        return []
    shapes = connection.execute(_SHAPES, {"files": [_literal(file) for file in files]}).fetchall()
    damaged: list[Damaged] = []
    for (alike,) in shapes:
        reason = shape_fault(Path(alike[0]))
        if reason is not None:
            damaged += [Damaged(Path(name), reason) for name in sorted(alike)]
    return damaged


def _set_aside_unsound(connection: DuckDBPyConnection) -> list[Damaged]:
    unsound = " OR ".join(filter(None, map(_unsound, RECORD)))
    found = connection.execute(
        f"SELECT DISTINCT filename FROM incoming WHERE {unsound} ORDER BY filename"
    ).fetchall()
    damaged = [Damaged(Path(name), fault(Path(name)) or "not a record") for (name,) in found]
    for file in damaged:
        connection.execute("DELETE FROM incoming WHERE filename = ?", [str(file.path)])
    return damaged


def _unsound(column: Column) -> str:
    """The condition under which a row's value is none that a record may have; empty if all are."""
    conditions = []
    if column.name == "schema_version":
        conditions.append(f"{column.name} <> {SCHEMA_VERSION}")
    if not column.nullable:
        conditions.append(f"{column.name} IS NULL")
    if column.allowed:
        allowed = ", ".join(text(value) for value in column.allowed)
        conditions.append(f"{column.name} NOT IN ({allowed})")
    if column.name.endswith("durations_ns"):
        is_map = column.type.startswith("MAP")
        durations = f"flatten(map_values({column.name}))" if is_map else column.name
        conditions.append(f"list_min({durations}) < 0")
    return " OR ".join(conditions)


def _damaged(files: Sequence[Path]) -> list[Damaged]:
    reasons = ((file, fault(file)) for file in files)
    return [Damaged(file, reason) for file, reason in reasons if reason is not None]


def _without(files: Sequence[Path], damaged: Sequence[Damaged]) -> list[Path]:
    left_out = {file.path for file in damaged}
    return [file for file in files if file not in left_out]


def _literal(path: Path) -> str:
    """The path as a pattern that matches it alone."""
    return re.sub(r"[\[*?]", r"[\g<0>]", str(path))
