"""Records, the output of a job: one per cell, one Parquet row per record."""

from typing import TYPE_CHECKING

from runner.contract.lazy_names import lazy_names

if TYPE_CHECKING:
    from runner.contract.record.files import (
        arrow_schema,
        drop_empty_columns,
        each_row,
        is_null_if_missing,
        record_of,
        rows,
        save_record,
        to_table,
        write_one_row,
        write_records,
    )
    from runner.contract.record.ids import (
        ENVIRONMENT_FACTS,
        MACHINE_FACTS,
        MEMORY_FACT,
        MEMORY_UNIT_BYTES,
        SHARED_FACTS,
        digest,
        environment_id,
        false_id,
        hardware_id,
        model_id,
    )
    from runner.contract.record.quality import Outcome
    from runner.contract.record.record import (
        SCHEMA_VERSION,
        Columns,
        Record,
        Row,
        known_columns,
    )
    from runner.contract.record.verdict import RETRIED, Grade, Phase, Proof, Status

__all__ = [
    "ENVIRONMENT_FACTS",
    "MACHINE_FACTS",
    "MEMORY_FACT",
    "MEMORY_UNIT_BYTES",
    "RETRIED",
    "SCHEMA_VERSION",
    "SHARED_FACTS",
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
    "drop_empty_columns",
    "each_row",
    "environment_id",
    "false_id",
    "hardware_id",
    "is_null_if_missing",
    "known_columns",
    "model_id",
    "record_of",
    "rows",
    "save_record",
    "to_table",
    "write_one_row",
    "write_records",
]

__getattr__ = lazy_names(
    __name__,
    {
        "ENVIRONMENT_FACTS": "ids",
        "MACHINE_FACTS": "ids",
        "MEMORY_FACT": "ids",
        "MEMORY_UNIT_BYTES": "ids",
        "RETRIED": "verdict",
        "SCHEMA_VERSION": "record",
        "SHARED_FACTS": "ids",
        "Columns": "record",
        "Grade": "verdict",
        "Outcome": "quality",
        "Phase": "verdict",
        "Proof": "verdict",
        "Record": "record",
        "Row": "record",
        "Status": "verdict",
        "arrow_schema": "files",
        "digest": "ids",
        "drop_empty_columns": "files",
        "each_row": "files",
        "environment_id": "ids",
        "false_id": "ids",
        "hardware_id": "ids",
        "is_null_if_missing": "files",
        "known_columns": "record",
        "model_id": "ids",
        "record_of": "files",
        "rows": "files",
        "save_record": "files",
        "to_table": "files",
        "write_one_row": "files",
        "write_records": "files",
    },
)
