"""What comes out: one record per cell, one Parquet row per record."""

from runner.record.files import arrow_schema, read_record, save_record, to_table
from runner.record.record import SCHEMA_VERSION, Record
from runner.record.vocabulary import Grade, Phase, Proof, Status

__all__ = [
    "SCHEMA_VERSION",
    "Grade",
    "Phase",
    "Proof",
    "Record",
    "Status",
    "arrow_schema",
    "read_record",
    "save_record",
    "to_table",
]
