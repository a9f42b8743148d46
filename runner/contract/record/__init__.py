"""What comes out: one record per cell, one Parquet row per record."""

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
)
from runner.contract.record.quality import Grade, Phase, Proof, Status
from runner.contract.record.record import ENVIRONMENT_FACTS, SCHEMA_VERSION, Record, digest

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
