"""What comes out: one record per cell, one Parquet row per record."""

from runner.record.files import (
    UNREADABLE,
    arrow_schema,
    read_record,
    read_table,
    record_of,
    save_record,
    to_table,
)
from runner.record.record import ENVIRONMENT_FACTS, SCHEMA_VERSION, Record, digest
from runner.record.rows import Row, each_row, rows
from runner.record.vocabulary import Grade, Phase, Proof, Status

__all__ = [
    "ENVIRONMENT_FACTS",
    "SCHEMA_VERSION",
    "UNREADABLE",
    "Grade",
    "Phase",
    "Proof",
    "Record",
    "Row",
    "Status",
    "arrow_schema",
    "digest",
    "each_row",
    "read_record",
    "read_table",
    "record_of",
    "rows",
    "save_record",
    "to_table",
]
