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
from runner.contract.record.ids import (
    ENVIRONMENT_FACTS,
    MACHINE_FACTS,
    SHARED_FACTS,
    digest,
    environment_id,
    false_id,
    hardware_id,
    model_id,
)
from runner.contract.record.parquet_bounds import open_parquet
from runner.contract.record.quality import RETRIED, Grade, Outcome, Phase, Proof, Status
from runner.contract.record.record import SCHEMA_VERSION, Columns, Record, known_columns

__all__ = [
    "ENVIRONMENT_FACTS",
    "MACHINE_FACTS",
    "RETRIED",
    "SCHEMA_VERSION",
    "SHARED_FACTS",
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
    "environment_id",
    "false_id",
    "hardware_id",
    "known_columns",
    "model_id",
    "open_parquet",
    "read_record",
    "read_table",
    "record_of",
    "rows",
    "save_record",
    "to_table",
    "write_records",
]
