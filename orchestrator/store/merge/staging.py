"""The first half of a merge: look at record files in bulk, and set aside what is damaged."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from orchestrator.store.database.errors import explain, interruptible
from orchestrator.store.database.execute import fetch
from orchestrator.store.records.find import ID_COLUMNS, is_path
from orchestrator.store.records.schema_groups import apart, shapes_of
from orchestrator.store.records.validate import Bystander, Damaged, fault, offering, without
from orchestrator.store.schema.columns import Column, text
from orchestrator.store.schema.origin import OURS
from orchestrator.store.schema.parquet_columns import NO_ROWS, Shape
from orchestrator.store.schema.tables import RECORD, REQUIRED

SMALL_FILE_BYTES = 1_000_000
"""Files that are smaller on average are read once into memory; opening them costs more."""
_FIRST, _LAST = (f"TIMESTAMPTZ '{day} 00:00:00+00'" for day in ("0001-01-02", "9999-12-31"))
"""The times that Python knows, wherever on earth."""
FILES_AT_ONCE = 200
"""DuckDB keeps nearly two megabytes of each file until a statement has read its last one."""


def stage(connection: DuckDBPyConnection, files: Sequence[Path]) -> list[Damaged]:
    """Make the temporary relation `incoming` of the rows of all sound files; returns the others.

    Raises:
        duckdb.Error: reading failed, and not because of a file.
    """
    unstage(connection)
    small = are_small(files)
    with Bystander(threads=1 if small else None) as own:
        shapes, damaged = shapes_of(own, files)
        return damaged + (_copy if small else _view)(own, connection, shapes)


def unstage(connection: DuckDBPyConnection) -> None:
    """Let go of `incoming`."""
    for kind in ("VIEW", "TABLE"):
        found = connection.execute(
            f"SELECT 1 FROM duckdb_{kind.lower()}s() WHERE temporary AND {kind.lower()}_name ="
            " 'incoming'"
        ).fetchall()
        if found:
            connection.execute(f"DROP {kind} temp.incoming")


def are_small(files: Sequence[Path]) -> bool:
    """Whether it is the number of these files that matters, and not their size."""
    sizes = (path.stat().st_size for path in files if path.exists())
    return sum(sizes) <= SMALL_FILE_BYTES * len(files)


def _view(own: Bystander, connection: DuckDBPyConnection, shapes: Sequence[Shape]) -> list[Damaged]:
    """Read large files where they are, as often as need be."""
    damaged: list[Damaged] = []
    queries: list[str] = []
    for shape in shapes:
        unsound: list[Path] = []
        damaged += apart(shape.files, partial(_find_unsound, own, shape, unsound))
        damaged += map(_unsound, unsound)
        left = tuple(without(shape.files, damaged))
        queries += [replace(shape, files=left).query] if left else []
    connection.execute(f"CREATE TEMP VIEW incoming AS {' UNION ALL '.join(queries) or NO_ROWS}")
    return damaged


def _find_unsound(own: Bystander, shape: Shape, unsound: list[Path], files: Sequence[Path]) -> None:
    rows = own.rows(_UNSOUND_FILES.format(rows=f"({replace(shape, files=tuple(files)).query})"))
    unsound += [Path(name) for (name,) in rows]


def _copy(own: Bystander, connection: DuckDBPyConnection, shapes: Sequence[Shape]) -> list[Damaged]:
    """Read small files into memory."""
    connection.execute(f"CREATE TEMP TABLE incoming AS {NO_ROWS}")
    damaged: list[Damaged] = []
    for shape in shapes:
        for first in range(0, len(shape.files), FILES_AT_ONCE):
            some = shape.files[first : first + FILES_AT_ONCE]
            damaged += apart(some, partial(_insert, own, connection, shape))
    unsound = connection.execute(_UNSOUND_FILES.format(rows="incoming")).fetchall()
    if unsound:
        names = ", ".join(text(name) for (name,) in unsound)
        connection.execute(f"DELETE FROM incoming WHERE filename IN ({names})")
    return [*damaged, *(_unsound(Path(name)) for (name,) in unsound)]


def _insert(
    own: Bystander, connection: DuckDBPyConnection, shape: Shape, files: Sequence[Path]
) -> None:
    with offering(connection, "read_rows", own.table(replace(shape, files=tuple(files)).query)):
        connection.execute("INSERT INTO incoming BY NAME FROM read_rows")


def _unsound(path: Path) -> Damaged:
    return Damaged(path, fault(path) or "pyarrow and DuckDB differ in what is in it")


def _impossible(column: Column) -> str:
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
    if column.type == "TIMESTAMPTZ":
        conditions.append(f"{column.name} NOT BETWEEN {_FIRST} AND {_LAST}")
    if column.name.endswith("durations_ns"):
        is_map = column.type.startswith("MAP")
        durations = f"flatten(map_values({column.name}))" if is_map else column.name
        conditions.append(f"list_min({durations}) < 0")
    return " OR ".join(conditions)


_UNSOUND_FILES = "SELECT DISTINCT filename FROM {{rows}} WHERE {} ORDER BY filename".format(
    " OR ".join(filter(None, (*map(_impossible, RECORD), *map(is_path, ID_COLUMNS))))
)
"""Which files have rows that no record may have."""


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
