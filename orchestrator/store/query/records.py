"""Results as values, read in batches: a million of them need not fit into memory."""

from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from inspect import GEN_CLOSED, GEN_SUSPENDED, getgeneratorstate
from typing import TYPE_CHECKING

import pyarrow as pa
from duckdb import DuckDBPyConnection
from pydantic import AwareDatetime, ValidationError

from orchestrator.store.database.connect import duckdb_message, fetch
from orchestrator.store.schema.sources import Origin
from orchestrator.store.schema.tables import ENVIRONMENTS, HARDWARE, JOBS, MODELS, RAW, records_sql
from runner.contract.errors import StoreError
from runner.contract.record.files import each_row
from runner.contract.record.identity import Host, Raw, RuntimeFacts
from runner.contract.record.measured import Efficiency, Resources, Timing
from runner.contract.record.modes import Arrivals, Generation, Startup, Training
from runner.contract.record.quality import Trust
from runner.contract.record.record import Row

if TYPE_CHECKING:
    from pandas import DataFrame


class StoredRecord(
    Raw,
    Host,
    RuntimeFacts,
    Efficiency,
    Resources,
    Arrivals,
    Startup,
    Training,
    Generation,
    Timing,
    Trust,
    Origin,
):
    """A record with its id and its origin, in base units. None means `not known`.

    Fields have the names and the meanings of the columns in docs/schema.md. Beside ids, model,
    status and proof each may be None, and words may be others than ours: what others measured
    lacks what their files do not tell. `job`, `warmup_durations_ns`, `durations_ns` and
    `part_durations_ns` are read on demand, and None otherwise.
    """

    result_id: str
    """`<run_id>/<cell_id>`: the verdict's id."""
    run_id: str
    job_id: str
    cell_id: str
    recorded_at: AwareDatetime
    schema_version: int | None = None

    model: str
    family: str | None = None
    task: str | None = None
    modality: str | None = None
    backend: str | None = None
    runtime: str | None = None
    precision: str | None = None
    batch_size: int | None = None
    sequence_length: int | None = None
    image_size: int | None = None
    audio_seconds: int | None = None
    new_tokens: int | None = None
    mode: str | None = None
    scenario: str | None = None
    target_qps: float | None = None
    slo_ms: float | None = None
    workers: int | None = None
    training_precision: str | None = None
    seed: int | None = None
    weights_seed: int | None = None
    profile: str | None = None
    purpose: str | None = None
    interleaved_with: str | None = None
    side_by_side: str | None = None
    looks: list[int] | None = None
    model_id: str | None = None
    model_spec: str | None = None
    job: str | None = None

    reason: str | None = None
    remedy: str | None = None
    correct_reason: str | None = None
    grade_reasons: list[str] | None = None
    weights: str | None = None
    predicted: bool | None = None
    launcher: str | None = None
    orchestrator_version: str | None = None


Records = Generator[StoredRecord, None, None]
_BATCH_ROWS = 2048
_LARGE = (RAW, JOBS)
_OF_THESE = """
    SELECT * FROM {} WHERE result_id BETWEEN ? AND ? AND result_id IN (SELECT unnest(?::VARCHAR[]))
"""
"""The range spares DuckDB most of the table, since the results of a run lie together."""


_SELECT = records_sql(StoredRecord.model_fields, beside=(HARDWARE, ENVIRONMENTS, MODELS))


class RecordStream(Iterator[StoredRecord]):
    """Records that are read as they are asked for, and no longer than their store is open."""

    def __init__(self, records: Records) -> None:
        self._records = records
        self._cut_off = False

    def __next__(self) -> StoredRecord:
        if self._cut_off:
            raise StoreError(
                "the store was closed before all of its records were read",
                hint="read them while it is open",
            )
        return next(self._records)

    @property
    def is_reading(self) -> bool:
        return getgeneratorstate(self._records) == GEN_SUSPENDED

    def close(self) -> None:
        self._cut_off |= getgeneratorstate(self._records) != GEN_CLOSED
        self._records.close()


def read(connection: DuckDBPyConnection, wanted: str, *, whole: bool) -> Records:
    """The results whose ids that question gives; whole ones with raw durations and jobs."""
    sql = f"{_SELECT} WHERE r.result_id IN ({wanted})"
    with closing(connection.cursor()) as cursor, closing(connection.cursor()) as second:
        relation = cursor.sql(sql)
        for batch in _batches(relation.to_arrow_reader(_BATCH_ROWS)):
            # Columns that no row fills are left out, since a record is null there by itself.
            filled = [name for name in batch.schema.names if batch[name].null_count < len(batch)]
            rows = each_row(filled, [batch[name] for name in filled])
            yield from map(_record, _completed(second, [*rows]) if whole else rows)


def _completed(connection: DuckDBPyConnection, rows: Sequence[Row]) -> Sequence[Row]:
    """Add the columns of large tables, which a join would hold in memory whole."""
    by_id = {row["result_id"]: row for row in rows}
    these = (min(by_id), max(by_id), [*by_id])
    for table in _LARGE:
        for row in fetch(connection, _OF_THESE.format(table.name), *these):
            by_id[row["result_id"]].update(row)
    return rows


def _batches(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    try:
        with reader:
            yield from reader
    except (OSError, pa.ArrowException) as error:  # DuckDB's own, through Arrow's stream
        raise StoreError(
            f"the results cannot be read: {duckdb_message(error)}", hint="ask for fewer of them"
        ) from error


def _record(row: Row) -> StoredRecord:
    try:
        return StoredRecord.model_validate(row)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        field = ".".join(str(part) for part in first["loc"])
        raise StoreError(
            f"{row['result_id']}: {field}: {first['input']!r}: {first['msg']}",
            hint="`orchestrator database check` finds such rows, and --fix sets them aside",
        ) from error


def to_pandas(table: pa.Table) -> "DataFrame":
    """The table as a data frame; maps become dicts, whole numbers with nulls become floats."""
    try:
        frame: DataFrame = table.to_pandas(maps_as_pydicts="strict")
    except ModuleNotFoundError as error:
        raise StoreError(
            "pandas is not installed here",
            hint="`pip install pandas`, or take the Arrow table: `store.arrow(sql)`",
        ) from error
    return frame
