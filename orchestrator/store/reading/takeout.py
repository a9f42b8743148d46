"""Runs as a bundle carries them: their descriptions, their records, and what these refer to."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection

from orchestrator.store.file.connect import WAIT_S
from orchestrator.store.file.explaining import explained
from orchestrator.store.file.forward import open_current
from orchestrator.store.file.paths import require_database
from orchestrator.store.reading.described import StoredRun, stored_runs
from orchestrator.store.reading.plain import plain_rows
from orchestrator.store.schema.origin import Origin
from orchestrator.store.schema.tables import (
    ARTEFACTS,
    ENVIRONMENTS,
    HARDWARE,
    JOBS,
    MODELS,
    ORIGIN,
    OTHER,
    RAW,
    RECORD,
    RESULTS,
)
from runner.record import Row, arrow_schema

ROWS_AT_ONCE = 20_000
"""Runs are read together until they have so many records: these are sorted in memory."""
_JOINED = {"h": HARDWARE, "e": ENVIRONMENTS, "m": MODELS, "d": RAW, "j": JOBS}
_HELD = {column.name: "r" for column in RESULTS.columns}
_PLACES = {
    column.name: alias for alias, table in _JOINED.items() for column in table.columns
} | _HELD
_COLUMNS = ", ".join(f"{_PLACES[each.name]}.{each.name}" for each in (*RECORD, *ORIGIN, OTHER))
_RECORDS = (
    f"SELECT {_COLUMNS} FROM {RESULTS.name} r "
    + " ".join(
        f"LEFT JOIN {table.name} {alias} USING ({table.columns[0].name})"
        for alias, table in _JOINED.items()
    )
    + " WHERE r.run_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY r.run_id, r.cell_id"
)
_OF_RUNS = f"(SELECT * FROM {RESULTS.name} WHERE run_id IN (SELECT unnest(?::VARCHAR[])))"
SCHEMA = pa.unify_schemas(
    [
        arrow_schema(),
        arrow_schema(Origin),
        pa.schema([(OTHER.name, pa.string())]),
    ]
)
"""The columns of a bundle's records: those of our own, their origin, and those of newer runners."""


@dataclass(frozen=True)
class Takeout:
    """Some runs of an open database."""

    runs: Sequence[StoredRun]
    scratch: bool
    _connection: DuckDBPyConnection

    def records(self) -> Iterator[pa.Table]:
        """Their records by run and cell, a few runs at a time."""
        for ids in self._portions():
            relation = self._connection.sql(_RECORDS, params=[ids])
            yield relation.to_arrow_table().select(SCHEMA.names).cast(SCHEMA)

    def hardware(self) -> list[Row]:
        """The machines behind them."""
        return self._shared(HARDWARE.name, HARDWARE.columns[0].name)

    def environments(self) -> list[Row]:
        """The software behind them."""
        return self._shared(ENVIRONMENTS.name, ENVIRONMENTS.columns[0].name)

    def artefacts(self) -> list[Row]:
        """The images, graphs and weights behind them."""
        digests = f"""
            SELECT unnest([graph_sha256, weights_revision, image_digest])
            FROM {_OF_RUNS} LEFT JOIN {ENVIRONMENTS.name} USING (environment_id)
        """
        return self._rows(
            f"SELECT * FROM {ARTEFACTS.name} WHERE digest IN ({digests}) ORDER BY digest"
        )

    def _shared(self, table: str, key: str) -> list[Row]:
        return self._rows(
            f"SELECT * FROM {table} WHERE {key} IN (SELECT {key} FROM {_OF_RUNS}) ORDER BY {key}"
        )

    def _rows(self, sql: str) -> list[Row]:
        ids = [each.run.run_id for each in self.runs]
        table = self._connection.sql(sql, params=[ids]).to_arrow_table()
        return [
            dict(zip(table.column_names, row, strict=True))
            for batch in table.to_batches()
            for row in plain_rows(batch)
        ]

    def _portions(self) -> Iterator[list[str]]:
        ids: list[str] = []
        rows = 0
        for each in self.runs:
            if ids and rows + each.records > ROWS_AT_ONCE:
                yield ids
                ids, rows = [], 0
            ids.append(each.run.run_id)
            rows += each.records
        yield ids


@contextmanager
def takeout(path: Path, wanted: Collection[str], *, wait_s: float = WAIT_S) -> Iterator[Takeout]:
    """These runs of the database, or all of them if none is named.

    Raises:
        StoreError: there is no database, it is being written for longer than `wait_s` seconds,
            or cannot be read.
    """
    require_database(path)
    connection, kind = open_current(path, read_only=True, wait_s=wait_s)
    with connection, explained(f"{path}: cannot be read", "restore it, or merge into a new one"):
        runs = stored_runs(connection)
        in_order = [runs[run_id] for run_id in sorted(wanted or runs)]
        yield Takeout(in_order, kind.scratch, connection)
