"""Files beside a database, of which `database rebuild` makes it anew.

benchmarks.duckdb.kept/<time>.parquet           records that a merge took from elsewhere
benchmarks.duckdb.kept/accepted_changes.json    known steps, and rows that were taken
benchmarks.duckdb.kept/quarantine.json          out: decisions of its owner

Runs and imports have files of their own below the results folder. Each Parquet file names in its
metadata the runs that somebody described.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection
from pydantic import TypeAdapter

from orchestrator.store.database.connect import fetch
from orchestrator.store.schema.sources import Origin, Run
from orchestrator.store.schema.tables import KEPT_HERE, Table
from orchestrator.system.files import REMEDY, translate_os_errors
from orchestrator.system.parquet import UNREADABLE, check_rows, read_schema, read_table
from runner.contract.errors import DamagedFile
from runner.contract.files import (
    STREAM_BYTES,
    atomic_path,
    read_plain,
    remove_unfinished,
    write_atomic,
)
from runner.contract.record.files import arrow_schema, is_null_if_missing

SCHEMA = pa.unify_schemas([arrow_schema(), arrow_schema(Origin)])
"""The columns of records with their origin."""
_RUNS = b"accelmatrix.runs"
_MANY_RUNS = TypeAdapter(list[Run])
_ROWS_OF_TEXTS = TypeAdapter(list[list[str | None]])
KEPT_SUFFIX = ".kept"
_BATCH_ROWS = 4_096
_DESCRIBED = """
    SELECT * EXCLUDE (described) FROM benchmark_runs
    WHERE described AND run_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY run_id
"""


def kept_folder(database: Path) -> Path:
    path = database.resolve()
    return path.with_name(f"{path.name}{KEPT_SUFFIX}")


def kept_files(database: Path) -> list[Path]:
    """The record files in it, in the order in which they were merged."""
    return sorted(kept_folder(database).glob("[!.]*.parquet"))


def runs_metadata(runs: Sequence[Run]) -> dict[bytes, bytes]:
    return {_RUNS: _MANY_RUNS.dump_json([*runs], exclude_none=True)}


def runs_in(path: Path) -> list[Run]:
    """The runs that a file's metadata describes; none if it is no such file."""
    try:
        metadata = read_schema(path).metadata or {}
        return _MANY_RUNS.validate_json(metadata[_RUNS]) if _RUNS in metadata else []
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def run_ids_in(path: Path) -> frozenset[str]:
    described = (run.run_id for run in runs_in(path))
    try:
        return frozenset({*described, *read_table(path, ["run_id"])["run_id"].to_pylist()})
    except UNREADABLE as error:
        raise _unreadable(path, error) from error


def described_runs(connection: DuckDBPyConnection, run_ids: Iterable[str]) -> list[Run]:
    return [Run.model_validate(row) for row in fetch(connection, _DESCRIBED, sorted(run_ids))]


def keep_merged(
    connection: DuckDBPyConnection, rows: str, run_ids: Iterable[str], database: Path
) -> None:
    """Keep rows, which FROM takes, and what is known of their runs, in the merge's transaction."""
    counts = ", ".join(f"count({name})" for name in SCHEMA.names)
    ((*filled,),) = connection.execute(f"SELECT {counts} FROM {rows}").fetchall()
    chosen = [
        name
        for name, count in zip(SCHEMA.names, filled, strict=True)
        if count or not is_null_if_missing(name)
    ]
    runs = described_runs(connection, run_ids)
    schema = pa.schema([SCHEMA.field(name) for name in chosen], runs_metadata(runs))
    relation = connection.sql(
        f"SELECT {', '.join(chosen)} FROM {rows} ORDER BY run_id, cell_id, recorded_at"
    )
    folder = kept_folder(database)
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S-%f}.parquet"
    with translate_os_errors(path, hint=REMEDY):
        folder.mkdir(parents=True, exist_ok=True)
        remove_unfinished(folder)
        _write(path, schema, _tables(relation.to_arrow_reader(_BATCH_ROWS)))


def drop_kept(database: Path, run_ids: Collection[str]) -> None:
    dropped = pa.array(sorted(run_ids), pa.string())
    for path in kept_files(database):
        held = run_ids_in(path)
        if held.isdisjoint(run_ids):
            continue
        with translate_os_errors(path, hint=REMEDY):
            if held <= {*run_ids}:
                path.unlink()
                continue
            rest = [run for run in runs_in(path) if run.run_id not in run_ids]
            schema = read_schema(path).with_metadata(runs_metadata(rest))
            check_rows(path, lambda: None)
            with pq.ParquetFile(path) as parquet:
                portions = _tables(parquet.iter_batches(_BATCH_ROWS, use_threads=False))
                tables = (
                    table.filter(pc.invert(pc.is_in(table["run_id"], value_set=dropped)))
                    for table in portions
                )
                _write(path, schema, tables)


def keep_decisions(connection: DuckDBPyConnection, database: Path) -> None:
    """Write what the owner decided into files, in the transaction that changes it."""
    for table in KEPT_HERE:
        path = _decisions_path(database, table)
        texts = ", ".join(f"{column.name}::VARCHAR" for column in table.columns)
        select = f"SELECT {texts} FROM {table.name} ORDER BY ALL"
        rows = [*map(list, connection.execute(select).fetchall())]
        with translate_os_errors(path, hint=REMEDY):
            if rows:
                path.parent.mkdir(exist_ok=True)
                write_atomic(path, json.dumps(rows, ensure_ascii=False, indent=0))
            else:
                path.unlink(missing_ok=True)


def restore_decisions(connection: DuckDBPyConnection, database: Path) -> None:
    for table in KEPT_HERE:
        path = _decisions_path(database, table)
        if not path.exists():
            continue
        casts = ", ".join(f"?::{column.type}" for column in table.columns)
        try:
            rows = _ROWS_OF_TEXTS.validate_json(read_plain(path, STREAM_BYTES))
            if rows:
                connection.executemany(f"INSERT INTO {table.name} VALUES ({casts})", rows)
        except (*UNREADABLE, duckdb.Error) as error:
            raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DamagedFile:
    return DamagedFile(f"{path}: cannot be read: {(str(error).splitlines() or ['no content'])[0]}")


def _decisions_path(database: Path, table: Table) -> Path:
    return kept_folder(database) / f"{table.name}.json"


def _tables(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    return (pa.Table.from_batches([batch]) for batch in batches)


def _write(path: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> None:
    with (
        atomic_path(path) as unfinished,
        pq.ParquetWriter(
            unfinished, schema, compression="zstd", write_page_checksum=True
        ) as writer,
    ):
        for table in tables:
            writer.write_table(table.select(schema.names).cast(schema))
