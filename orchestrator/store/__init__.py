"""The store: the DuckDB file, and the Parquet files behind it."""

from typing import TYPE_CHECKING

from orchestrator.store.query.ask import query
from runner.contract.lazy_names import lazy_names

if TYPE_CHECKING:
    from orchestrator.store.database.connect import QUESTION_MEMORY_SHARE
    from orchestrator.store.database.lock import writer_lock
    from orchestrator.store.database.manifest import Manifest
    from orchestrator.store.health.drop_runs import DatedRun, dated_runs, drop_runs
    from orchestrator.store.health.exported import write_exported
    from orchestrator.store.health.fix import Validation, fix_database, validate_database
    from orchestrator.store.health.snapshots import (
        Restored,
        Snapshot,
        find_snapshot,
        list_snapshots,
        restore_snapshot,
        take_snapshot,
    )
    from orchestrator.store.health.summary import RecordSummary, summarise_records
    from orchestrator.store.health.vacuum import Vacuumed, vacuum
    from orchestrator.store.health.validate import Finding
    from orchestrator.store.merge.report import MergeReport, MissingVerdicts
    from orchestrator.store.query.accepted import KnownStep, accept_changes, withdraw_changes
    from orchestrator.store.query.answer import TIMEOUT_S, Answer, ShownAnswer
    from orchestrator.store.query.ask import QuestionLimits, asking, showing
    from orchestrator.store.query.coverage import (
        Coverage,
        Covered,
        Size,
        Verdicts,
        size_on_disk,
    )
    from orchestrator.store.query.export import (
        ExportedTopic,
        ExportOptions,
        export_topic,
        is_part,
        partition_values,
    )
    from orchestrator.store.query.filters import Filters
    from orchestrator.store.query.foreign import foreign_rows
    from orchestrator.store.query.formats import (
        SUFFIXES,
        WRITERS,
        markdown_row,
        markdown_text,
        save_answer,
    )
    from orchestrator.store.query.records import StoredRecord
    from orchestrator.store.query.relations import (
        RELATIONS,
        NamedQuestion,
        Relation,
        named_question,
    )
    from orchestrator.store.query.results import (
        RUN_ID,
        CellSpeed,
        Measurement,
        RunSummary,
        newest_run,
    )
    from orchestrator.store.query.runs import (
        SCHEMA,
        BundleRows,
        StoredRun,
        bundle_rows,
        imported_rows_at,
        resolve_group,
        resolve_run,
        undescribed_runs,
    )
    from orchestrator.store.query.stale import Installation, Stale
    from orchestrator.store.records.compact import (
        Compaction,
        compact,
        compact_files,
        same_table,
    )
    from orchestrator.store.records.find import files_below, find_files, id_fault
    from orchestrator.store.records.planned import (
        ExpectedCell,
        ExpectedRecords,
        claim_fault,
        fault_of_claim,
    )
    from orchestrator.store.records.validate import Damaged, file_fault
    from orchestrator.store.schema.columns import SqlColumn
    from orchestrator.store.schema.parquet_columns import DEFAULTS
    from orchestrator.store.schema.sources import Origin, Run
    from orchestrator.store.schema.tables import OURS, STORE_VERSION, SYNTHETIC, TABLES
    from orchestrator.store.schema.views import VIEWS
    from orchestrator.store.store import Store

__all__ = [
    "DEFAULTS",
    "OURS",
    "QUESTION_MEMORY_SHARE",
    "RELATIONS",
    "RUN_ID",
    "SCHEMA",
    "STORE_VERSION",
    "SUFFIXES",
    "SYNTHETIC",
    "TABLES",
    "TIMEOUT_S",
    "VIEWS",
    "WRITERS",
    "Answer",
    "BundleRows",
    "CellSpeed",
    "Compaction",
    "Coverage",
    "Covered",
    "Damaged",
    "DatedRun",
    "ExpectedCell",
    "ExpectedRecords",
    "ExportOptions",
    "ExportedTopic",
    "Filters",
    "Finding",
    "Installation",
    "KnownStep",
    "Manifest",
    "Measurement",
    "MergeReport",
    "MissingVerdicts",
    "NamedQuestion",
    "Origin",
    "QuestionLimits",
    "RecordSummary",
    "Relation",
    "Restored",
    "Run",
    "RunSummary",
    "ShownAnswer",
    "Size",
    "Snapshot",
    "SqlColumn",
    "Stale",
    "Store",
    "StoredRecord",
    "StoredRun",
    "Vacuumed",
    "Validation",
    "Verdicts",
    "accept_changes",
    "asking",
    "bundle_rows",
    "claim_fault",
    "compact",
    "compact_files",
    "dated_runs",
    "drop_runs",
    "export_topic",
    "fault_of_claim",
    "file_fault",
    "files_below",
    "find_files",
    "find_snapshot",
    "fix_database",
    "foreign_rows",
    "id_fault",
    "imported_rows_at",
    "is_part",
    "list_snapshots",
    "markdown_row",
    "markdown_text",
    "named_question",
    "newest_run",
    "partition_values",
    "query",
    "resolve_group",
    "resolve_run",
    "restore_snapshot",
    "same_table",
    "save_answer",
    "showing",
    "size_on_disk",
    "summarise_records",
    "take_snapshot",
    "undescribed_runs",
    "vacuum",
    "validate_database",
    "withdraw_changes",
    "write_exported",
    "writer_lock",
]

__getattr__ = lazy_names(
    __name__,
    {
        "DEFAULTS": "schema.parquet_columns",
        "OURS": "schema.tables",
        "QUESTION_MEMORY_SHARE": "database.connect",
        "RELATIONS": "query.relations",
        "RUN_ID": "query.results",
        "SCHEMA": "query.runs",
        "STORE_VERSION": "schema.tables",
        "SUFFIXES": "query.formats",
        "SYNTHETIC": "schema.tables",
        "TABLES": "schema.tables",
        "TIMEOUT_S": "query.answer",
        "VIEWS": "schema.views",
        "WRITERS": "query.formats",
        "Answer": "query.answer",
        "BundleRows": "query.runs",
        "CellSpeed": "query.results",
        "Compaction": "records.compact",
        "Coverage": "query.coverage",
        "Covered": "query.coverage",
        "Damaged": "records.validate",
        "DatedRun": "health.drop_runs",
        "ExpectedCell": "records.planned",
        "ExpectedRecords": "records.planned",
        "ExportOptions": "query.export",
        "ExportedTopic": "query.export",
        "Filters": "query.filters",
        "Finding": "health.validate",
        "Installation": "query.stale",
        "KnownStep": "query.accepted",
        "Manifest": "database.manifest",
        "Measurement": "query.results",
        "MergeReport": "merge.report",
        "MissingVerdicts": "merge.report",
        "NamedQuestion": "query.relations",
        "Origin": "schema.sources",
        "QuestionLimits": "query.ask",
        "RecordSummary": "health.summary",
        "Relation": "query.relations",
        "Restored": "health.snapshots",
        "Run": "schema.sources",
        "ShownAnswer": "query.answer",
        "RunSummary": "query.results",
        "Size": "query.coverage",
        "Snapshot": "health.snapshots",
        "SqlColumn": "schema.columns",
        "Stale": "query.stale",
        "Store": "store",
        "StoredRecord": "query.records",
        "StoredRun": "query.runs",
        "Vacuumed": "health.vacuum",
        "Validation": "health.fix",
        "Verdicts": "query.coverage",
        "accept_changes": "query.accepted",
        "asking": "query.ask",
        "bundle_rows": "query.runs",
        "claim_fault": "records.planned",
        "compact": "records.compact",
        "compact_files": "records.compact",
        "same_table": "records.compact",
        "dated_runs": "health.drop_runs",
        "drop_runs": "health.drop_runs",
        "export_topic": "query.export",
        "fault_of_claim": "records.planned",
        "file_fault": "records.validate",
        "files_below": "records.find",
        "find_files": "records.find",
        "find_snapshot": "health.snapshots",
        "fix_database": "health.fix",
        "foreign_rows": "query.foreign",
        "id_fault": "records.find",
        "imported_rows_at": "query.runs",
        "is_part": "query.export",
        "list_snapshots": "health.snapshots",
        "markdown_row": "query.formats",
        "markdown_text": "query.formats",
        "named_question": "query.relations",
        "newest_run": "query.results",
        "partition_values": "query.export",
        "resolve_group": "query.runs",
        "resolve_run": "query.runs",
        "restore_snapshot": "health.snapshots",
        "save_answer": "query.formats",
        "showing": "query.ask",
        "size_on_disk": "query.coverage",
        "summarise_records": "health.summary",
        "take_snapshot": "health.snapshots",
        "undescribed_runs": "query.runs",
        "vacuum": "health.vacuum",
        "validate_database": "health.fix",
        "withdraw_changes": "query.accepted",
        "write_exported": "health.exported",
        "writer_lock": "database.lock",
    },
)
