"""The store: the DuckDB file, and the Parquet files behind it."""

from orchestrator.store.database.backup import Manifest
from orchestrator.store.database.connect import QUESTION_MEMORY_SHARE
from orchestrator.store.database.lock import writer_lock
from orchestrator.store.health.drop_runs import DatedRun, dated_runs, drop_runs
from orchestrator.store.health.fix import Validation, fix_database, validate_database
from orchestrator.store.health.snapshots import (
    Restored,
    Snapshot,
    list_snapshots,
    restore_snapshot,
    take_snapshot,
)
from orchestrator.store.health.summary import RecordSummary, summarise_records
from orchestrator.store.health.vacuum import Vacuumed, vacuum
from orchestrator.store.health.validate import Finding
from orchestrator.store.merge.report import MergeReport, MissingVerdicts
from orchestrator.store.query.ask import Answer, QuestionLimits, asking, query
from orchestrator.store.query.coverage import (
    BEST_FIRST,
    Coverage,
    Covered,
    Size,
    Verdicts,
    size_on_disk,
)
from orchestrator.store.query.export import ExportedTopic, ExportOptions, export_topic
from orchestrator.store.query.filters import Filters
from orchestrator.store.query.foreign import foreign_rows
from orchestrator.store.query.formats import SUFFIXES, WRITERS, save_answer, text_rows
from orchestrator.store.query.question_errors import TIMEOUT_S
from orchestrator.store.query.records import StoredRecord
from orchestrator.store.query.relations import (
    RELATIONS,
    NamedQuestion,
    Relation,
    named_question,
)
from orchestrator.store.query.results import RUN_ID, Measurement, RunSummary, newest_run
from orchestrator.store.query.runs import (
    SCHEMA,
    BundleRows,
    StoredRun,
    bundle_rows,
    imported_rows_at,
    resolve_run,
    undescribed_runs,
)
from orchestrator.store.query.stale import Installation, Stale
from orchestrator.store.records.compact import Compaction, compact, compact_files
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
from orchestrator.store.schema.tables import OURS, STORE_VERSION, SYNTHETIC, TABLES, Origin, Run
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store

__all__ = [
    "BEST_FIRST",
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
    "fix_database",
    "foreign_rows",
    "id_fault",
    "imported_rows_at",
    "list_snapshots",
    "named_question",
    "newest_run",
    "query",
    "resolve_run",
    "restore_snapshot",
    "save_answer",
    "size_on_disk",
    "summarise_records",
    "take_snapshot",
    "text_rows",
    "undescribed_runs",
    "vacuum",
    "validate_database",
    "writer_lock",
]
