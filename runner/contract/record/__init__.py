"""Records, the output of a job: one per cell, one Parquet row per record."""

from runner.contract.record.files import (
    UNREADABLE,
    Row,
    arrow_schema,
    each_row,
    read_record,
    read_table,
    record_of,
    rows,
    save_record,
    to_table,
    write_records,
)
from runner.contract.record.parquet_bounds import open_parquet
from runner.contract.record.quality import RETRIED, Grade, Outcome, Phase, Proof, Status
from runner.contract.record.record import ENVIRONMENT_FACTS, SCHEMA_VERSION, Columns, Record, digest

__all__ = [
    "ENVIRONMENT_FACTS",
    "RETRIED",
    "SCHEMA_VERSION",
    "UNREADABLE",
    "Columns",
    "Grade",
    "Outcome",
    "Phase",
    "Proof",
    "Record",
    "Row",
    "Status",
    "arrow_schema",
    "digest",
    "each_row",
    "open_parquet",
    "read_record",
    "read_table",
    "record_of",
    "rows",
    "save_record",
    "to_table",
    "write_records",
]
