"""Exported tables as results: what `export performance` wrote, without the records behind it.

Such a table holds one value a cell. It becomes rows of the tables again, so that every question can
be asked of it; what it does not tell is null. Its ids cannot be checked, since the facts that they
are hashes of are not in it: it belongs into a database of its own, for a while.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection

from analysis.results.series import SERIES
from analysis.results.source import text
from orchestrator.store.database.connect import connect, store_errors, transaction
from orchestrator.store.database.open import create
from orchestrator.store.health.incoming import leave_out_impossible
from orchestrator.store.merge.dimensions import describe_shared, infer_runs
from orchestrator.store.merge.merge import REAL, WriteWords, insert_records
from orchestrator.store.merge.staging import registered, unstage
from orchestrator.store.schema.parquet_columns import KNOWN, TABLE_OF_ROWS, identifier
from orchestrator.store.schema.tables import OURS, RECORD, SYNTHETIC
from orchestrator.store.schema.view import MEGABYTE
from runner.contract.errors import StoreError, UsageError

_TABLE = "exported"
_NEEDED = (*("run_id", "cell_id", "model", "status", "proof", "measured_at", "simulated"), *SERIES)
"""Columns without which no result can be compared."""
_NAMES: Mapping[str, str] = {
    "hardware": "device_name",
    "cores": "cpu_cores_physical",
    "off": "difference_relative",
    "measured_at": "recorded_at",
    "memory_mb": "memory_peak_bytes",
    "memory_average_mb": "memory_average_bytes",
}
"""Columns of records by their names in views, where these follow no rule."""
_IS_OURS = f"(source IN ('{OURS}', '{SYNTHETIC}'))"
_PLAIN: Mapping[str, str] = {
    "VARCHAR": "text",
    "BIGINT": "a whole number",
    "DOUBLE": "a number",
    "BOOLEAN": "true or false",
    "TIMESTAMPTZ": "a moment",
}
"""Types of columns that a table can hold, in words."""
_ENVIRONMENT = ("image", "image_digest", "runner_version")
_HINT = "export it again, or ask for a bundle, whose records are checked: `export --bundle`"


def write_exported(
    database: Path, rows: pa.Table, path: Path, words: WriteWords, *, scratch: bool
) -> None:
    """Write a new database of the rows of an exported table, which was read from that path.

    It has the columns of `benchmark_performance`, as text or in their types. A scratch database
    takes fake and synthetic rows.
    """
    if lacking := [name for name in dict.fromkeys(_NEEDED) if name not in rows.column_names]:
        more = f" and {len(lacking) - 3} more" if len(lacking) > 3 else ""
        raise UsageError(
            f"{path}: no table of results: it lacks {', '.join(lacking[:3])}{more}",
            hint="`orchestrator export performance` writes a table that can be compared,"
            " `orchestrator export --bundle FILE` all that there is",
        )
    create(database, scratch=scratch)
    with (
        connect(database, read_only=False, wait_s=0) as connection,
        store_errors(f"{path}: cannot be read", _HINT),
    ):
        columns = [name for name in rows.column_names if _record_column(name) is not None]
        with registered(connection, _TABLE, rows.select(columns)):
            _require_values(connection, columns, path)
            connection.execute(f"CREATE TEMP TABLE incoming ({TABLE_OF_ROWS})")
            connection.execute(f"INSERT INTO incoming BY NAME {_records(columns, path)}")
        _require_sound(connection, path, scratch=scratch)
        with transaction(connection):
            insert_records(connection, "incoming", words)
            describe_shared(connection, "incoming")
            connection.execute(infer_runs("true"))
        unstage(connection)


def _record_column(name: str) -> str | None:
    """The column of records behind one of a view; None for those that cannot be taken back."""
    if name.endswith("_ms"):
        name = f"{name.removesuffix('_ms')}_s"
    name = _NAMES.get(name, name)
    known = KNOWN.get(name)
    return name if known is not None and known.type in _PLAIN else None


def _value(name: str) -> str:
    """The value of a column in the unit of records; null where it is none of its type."""
    column = KNOWN[str(_record_column(name))]
    quoted = identifier(name)
    if name.endswith("_ms"):
        return f"TRY_CAST({quoted} AS DOUBLE) / 1000"
    if name.endswith("_mb"):
        return f"TRY_CAST(round(TRY_CAST({quoted} AS DOUBLE) * {MEGABYTE}) AS BIGINT)"
    return f"TRY_CAST({quoted} AS {column.type})"


def _require_values(connection: DuckDBPyConnection, columns: Sequence[str], path: Path) -> None:
    """Insist that each value is one of its column's type, and that no result stands there twice."""
    wrong = ", ".join(
        f"arg_min({identifier(name)}::VARCHAR, place)"
        f" FILTER ({identifier(name)} IS NOT NULL AND {_value(name)} IS NULL)"
        for name in columns
    )
    numbered = f"(SELECT *, row_number() OVER () AS place FROM {_TABLE})"
    ((*examples,),) = connection.execute(f"SELECT {wrong} FROM {numbered}").fetchall()
    for name, example in zip(columns, examples, strict=True):
        if example is not None:
            kind = _PLAIN[KNOWN[str(_record_column(name))].type]
            raise StoreError(f"{path}: {name}: {example[:60]!r} is not {kind}", hint=_HINT)
    twice = connection.execute(
        f"SELECT run_id || '/' || cell_id AS result_id FROM {_TABLE}"
        " GROUP BY result_id HAVING count(*) > 1 ORDER BY result_id LIMIT 1"
    ).fetchall()
    if twice:
        raise StoreError(f"{path}: {twice[0][0]} stands in it twice", hint=_HINT)


def _records(columns: Sequence[str], path: Path) -> str:
    known = [name for name in _ENVIRONMENT if name in columns]
    software = ", ".join(f"coalesce({identifier(name)}::VARCHAR, '')" for name in known)
    measured = f"TRY_CAST({identifier('measured_at')} AS TIMESTAMPTZ)"
    values = {
        **{str(_record_column(name)): _value(name) for name in columns},
        "result_id": "run_id || '/' || cell_id",
        "filename": text(str(path)),
        "file_row_number": "row_number() OVER () - 1",
        "job_id": text(_TABLE),
        "recorded_at": f"coalesce({measured}, now())",
        "source_measured_at": f"CASE WHEN NOT {_IS_OURS} THEN {measured} END",
        "evidence": "MAP {'exported': 'the table tells of a proof, not of its evidence'}",
        **({"environment_id": f"sha256(concat_ws(chr(10), {software}))[:16]"} if known else {}),
    }
    shown = ", ".join(f"{value} AS {name}" for name, value in values.items())
    return f"SELECT {shown} FROM {_TABLE}"


def _require_sound(connection: DuckDBPyConnection, path: Path, *, scratch: bool) -> None:
    faults = {
        f"{column.name} is none of {', '.join(column.allowed)}": (
            f"{column.name} NOT IN ({', '.join(map(text, column.allowed))}) AND source = '{OURS}'"
        )
        for column in RECORD
        if column.allowed
    }
    for name in ("run_id", "cell_id", "model", "status", "proof", "source"):
        faults[f"{name} is empty"] = f"{name} IS NULL"
    if not scratch:
        faults["no device made it: it belongs into a scratch database"] = f"NOT {REAL}"
    for sentence, condition in faults.items():
        rows = connection.execute(
            f"SELECT result_id FROM incoming WHERE {condition} ORDER BY result_id LIMIT 1"
        ).fetchall()
        if rows:
            raise StoreError(f"{path}: {rows[0][0]}: {sentence}", hint=_HINT)
    if impossible := leave_out_impossible(connection):
        raise StoreError(f"{path}: {impossible[0].reason}", hint=_HINT)
