"""The first half of a merge: look at record files in bulk, and set aside what is damaged."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection

from orchestrator.store.merging.record_files import fault, shape_fault
from orchestrator.store.merging.report import Damaged
from orchestrator.store.schema.columns import Column, text
from orchestrator.store.schema.origin import OURS
from orchestrator.store.schema.shapes import NO_ROWS, Shape, literals
from orchestrator.store.schema.tables import RECORD, REQUIRED

SMALL_FILE_ROWS = 1000
"""Files with fewer rows on average are read once into memory; opening them costs more."""
FILES_AT_ONCE = 200
"""DuckDB keeps nearly two megabytes of each file until a statement has read its last one."""
_SHAPES = """
    SELECT list(file_name) FROM (
        SELECT file_name,
            sum(hash({{'name': name, 'type': type, 'repetition': repetition_type,
                'children': num_children, 'logical': logical_type}})) AS shape
        FROM parquet_schema([{files}]) GROUP BY file_name)
    GROUP BY shape
"""
_ROWS = "SELECT sum(num_rows) FROM parquet_file_metadata([{files}])"


def stage(connection: DuckDBPyConnection, files: Sequence[Path]) -> list[Damaged]:
    """Make the temporary relation `incoming` of the rows of all sound files; returns the others.

    Raises:
        duckdb.Error: reading failed, and not because of a file.
    """
    try:
        damaged = _stage_sound(connection, files)
    except duckdb.InterruptException:
        raise
    except duckdb.Error:
        damaged = [Damaged(file, reason) for file in files if (reason := fault(file)) is not None]
        if not damaged:
            raise
        damaged += _stage_sound(connection, _without(files, damaged))
    return damaged


def unstage(connection: DuckDBPyConnection) -> None:
    """Let go of `incoming`."""
    for kind in ("VIEW", "TABLE"):
        found = connection.execute(
            f"SELECT 1 FROM duckdb_{kind.lower()}s() WHERE temporary AND {kind.lower()}_name ="
            " 'incoming'"
        ).fetchall()
        if found:
            connection.execute(f"DROP {kind} temp.incoming")


def _stage_sound(connection: DuckDBPyConnection, files: Sequence[Path]) -> list[Damaged]:
    shapes, damaged = _shapes(connection, files)
    _relate(connection, shapes)
    unsound = _unsound_files(connection)
    if unsound:
        left = [Shape(tuple(_without(shape.files, unsound)), shape.columns) for shape in shapes]
        _relate(connection, [shape for shape in left if shape.files])
    return damaged + unsound


def _shapes(
    connection: DuckDBPyConnection, files: Sequence[Path]
) -> tuple[list[Shape], list[Damaged]]:
    """The files by their columns; one file of each shape is looked at closely."""
    shapes: list[Shape] = []
    damaged: list[Damaged] = []
    if not files:
        return shapes, damaged
    alike = connection.execute(_SHAPES.format(files=literals(files))).fetchall()
    for (names,) in alike:
        paths = tuple(Path(name) for name in sorted(names))
        reason = shape_fault(paths[0])
        if reason is None:
            shapes.append(Shape(paths, frozenset(pq.read_schema(paths[0]).names)))
        else:
            damaged += [Damaged(path, reason) for path in paths]
    return shapes, damaged


def _relate(connection: DuckDBPyConnection, shapes: Sequence[Shape]) -> None:
    unstage(connection)
    if not _small(connection, shapes):
        query = " UNION ALL ".join(shape.query for shape in shapes)
        connection.execute(f"CREATE TEMP VIEW incoming AS {query}")
        return
    connection.execute(f"CREATE TEMP TABLE incoming AS {NO_ROWS}")
    for shape in shapes:
        for first in range(0, len(shape.files), FILES_AT_ONCE):
            some = replace(shape, files=shape.files[first : first + FILES_AT_ONCE])
            connection.execute(f"INSERT INTO incoming {some.query}")


def _small(connection: DuckDBPyConnection, shapes: Sequence[Shape]) -> bool:
    files = [file for shape in shapes for file in shape.files]
    if not files:
        return True
    ((rows,),) = connection.execute(_ROWS.format(files=literals(files))).fetchall()
    return bool(rows < SMALL_FILE_ROWS * len(files))


def _unsound_files(connection: DuckDBPyConnection) -> list[Damaged]:
    unsound = " OR ".join(filter(None, map(_unsound, RECORD)))
    found = connection.execute(
        f"SELECT DISTINCT filename FROM incoming WHERE {unsound} ORDER BY filename"
    ).fetchall()
    return [Damaged(Path(name), fault(Path(name)) or "not a record") for (name,) in found]


def _unsound(column: Column) -> str:
    """The condition under which a row's value is none that a record may have; empty if all are.

    What others measured may lack what we insist on, and has words of its own.
    """
    conditions = []
    if not column.nullable:
        ours = "" if column.name in REQUIRED else f" AND source = '{OURS}'"
        conditions.append(f"{column.name} IS NULL{ours}")
    if column.allowed:
        allowed = ", ".join(text(value) for value in column.allowed)
        everyone = column.name in REQUIRED
        ours = "" if everyone else f" AND source = '{OURS}'"
        conditions.append(f"{column.name} NOT IN ({allowed}){ours}")
    if column.name.endswith("durations_ns"):
        is_map = column.type.startswith("MAP")
        durations = f"flatten(map_values({column.name}))" if is_map else column.name
        conditions.append(f"list_min({durations}) < 0")
    return " OR ".join(conditions)


def _without(files: Sequence[Path], damaged: Sequence[Damaged]) -> list[Path]:
    left_out = {file.path for file in damaged}
    return [file for file in files if file not in left_out]
