"""Runs with all facts about them, the rows of a bundle, and the rows of imports."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import (
    WAIT_S,
    fetch,
    is_missing,
    require_database,
    store_errors,
)
from orchestrator.store.database.open import open_current
from orchestrator.store.query.formats import json_rows
from orchestrator.store.records.kept import SCHEMA
from orchestrator.store.schema.parquet_columns import KNOWN
from orchestrator.store.schema.sources import Run
from orchestrator.store.schema.tables import (
    ACCEPTED,
    ENVIRONMENTS,
    HARDWARE,
    JOBS,
    ORIGIN,
    RAW,
    RECORD,
    RESULTS,
    Table,
    records_sql,
)
from runner.contract.record.record import Row


@dataclass(frozen=True)
class StoredRun:
    """A run of a database."""

    run: Run
    described: bool
    """True if the orchestrator described it; else it is inferred from its records."""
    records: int
    """Verdicts it has."""

    @property
    def unfinished(self) -> Run:
        return self.run.model_copy(update={"finished_at": None})

    def is_newer_than(self, run: Run) -> bool:
        if not self.described or self.run.finished_at is None:
            return False
        return run.finished_at is None or self.run.finished_at > run.finished_at


def stored_runs(connection: DuckDBPyConnection) -> Mapping[str, StoredRun]:
    rows = fetch(
        connection,
        """
        SELECT * FROM benchmark_runs
        LEFT JOIN (SELECT run_id, count(*) AS records FROM benchmark_results GROUP BY run_id)
            USING (run_id)
        ORDER BY started_at DESC, run_id DESC
        """,
    )
    return {
        row["run_id"]: StoredRun(
            Run.model_validate({name: row[name] for name in Run.model_fields}),
            row["described"],
            row["records"] or 0,
        )
        for row in rows
    }


def undescribed_runs(runs: Iterable[Run], known: Mapping[str, StoredRun]) -> list[Run]:
    """The runs of which the database knows less; one that was described keeps its facts."""
    undescribed = []
    for run in runs:
        stored = known.get(run.run_id)
        if stored is None or not stored.described:
            undescribed.append(run)
        elif stored.run != run and not stored.is_newer_than(run):
            undescribed.append(stored.unfinished)
    return undescribed


ROWS_AT_ONCE = 20_000
"""Runs are read together until they have so many records: these are sorted in memory."""
ALL_RECORDS = records_sql(column.name for column in (*RECORD, *ORIGIN))
"""The question for all results as records."""
_OF_THESE = (
    f"{ALL_RECORDS} WHERE r.run_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY r.run_id, r.cell_id"
)
_OF_RUNS = "(SELECT * FROM benchmark_results WHERE run_id IN (SELECT unnest(?::VARCHAR[])))"


@dataclass(frozen=True)
class BundleRows:
    """Some runs of an open database."""

    runs: Sequence[StoredRun]
    scratch: bool
    _connection: DuckDBPyConnection

    def records(self) -> Iterator[pa.Table]:
        """Their records by run and cell, a few runs at a time."""
        for ids in self._portions():
            relation = self._connection.sql(_OF_THESE, params=[ids])
            yield relation.to_arrow_table().select(SCHEMA.names).cast(SCHEMA)

    def hardware(self) -> list[Row]:
        return self._shared(HARDWARE)

    def environments(self) -> list[Row]:
        return self._shared(ENVIRONMENTS)

    def artefacts(self) -> list[Row]:
        digests = f"""
            SELECT unnest([graph_sha256, weights_revision, image_digest])
            FROM {_OF_RUNS} LEFT JOIN environments USING (environment_id)
        """
        return self._rows(f"SELECT * FROM artefacts WHERE digest IN ({digests}) ORDER BY digest")

    def _shared(self, table: Table) -> list[Row]:
        key = table.columns[0].name
        used = f"SELECT {key} FROM {_OF_RUNS}"
        return self._rows(f"SELECT * FROM {table.name} WHERE {key} IN ({used}) ORDER BY {key}")

    def _rows(self, sql: str) -> list[Row]:
        ids = [stored.run.run_id for stored in self.runs]
        table = self._connection.sql(sql, params=[ids]).to_arrow_table()
        return [
            dict(zip(table.column_names, row, strict=True))
            for batch in table.to_batches()
            for row in json_rows(batch)
        ]

    def _portions(self) -> Iterator[list[str]]:
        ids: list[str] = []
        rows = 0
        for stored in self.runs:
            if ids and rows + stored.records > ROWS_AT_ONCE:
                yield ids
                ids, rows = [], 0
            ids.append(stored.run.run_id)
            rows += stored.records
        yield ids


@contextmanager
def bundle_rows(
    path: Path, wanted: Collection[str], *, wait_s: float = WAIT_S
) -> Iterator[BundleRows]:
    require_database(path)
    connection, kind = open_current(path, read_only=True, wait_s=wait_s)
    with connection, store_errors(f"{path}: cannot be read", "restore it, or merge into a new one"):
        runs = stored_runs(connection)
        in_order = [runs[run_id] for run_id in sorted(wanted or runs)]
        yield BundleRows(in_order, kind.scratch, connection)


_IMPORTED_ROWS = records_sql(
    KNOWN,
    "(SELECT * FROM benchmark_results WHERE run_id IN (SELECT unnest(?)))",
    (HARDWARE, ENVIRONMENTS, RAW),
)


def imported_rows(connection: DuckDBPyConnection, run_ids: Sequence[str]) -> pa.Table:
    """The rows of these imports with machine, software and raw durations, as they were merged."""
    return connection.sql(_IMPORTED_ROWS, params=[list(run_ids)]).to_arrow_table()


def imported_rows_at(
    path: Path, run_ids: Sequence[str], *, wait_s: float = WAIT_S
) -> pa.Table | None:
    """The same, read from a file; None if there is no database."""
    if is_missing(path):
        return None
    with (
        open_current(path, read_only=True, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: cannot be read", "restore it, or import into a new one"),
    ):
        return imported_rows(connection, run_ids)


def forget(connection: DuckDBPyConnection, result_ids: Sequence[str]) -> None:
    connection.begin()
    for table in (RESULTS, RAW, JOBS, ACCEPTED):
        connection.execute(
            f"DELETE FROM {table.name} WHERE result_id IN (SELECT unnest(?))", [list(result_ids)]
        )
    connection.commit()
