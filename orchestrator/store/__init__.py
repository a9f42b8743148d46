"""The store: the DuckDB file, and the Parquet files behind it."""

from orchestrator.store.database.lock import writer_lock
from orchestrator.store.health.drop_runs import DatedRun, dated_runs, drop_runs
from orchestrator.store.health.fix import Validation, fix_database, validate_database
from orchestrator.store.health.snapshots import Restored, Snapshot, restore, snapshots, take
from orchestrator.store.health.vacuum import Tidied, tidy
from orchestrator.store.health.validate import Finding
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.merge.staging import Examined, examine
from orchestrator.store.query.ask import Answer, asking, query
from orchestrator.store.query.coverage import (
    BEST_FIRST,
    Coverage,
    Covered,
    Size,
    Verdicts,
    size_on_disk,
)
from orchestrator.store.query.export import Exported, Wanted, export
from orchestrator.store.query.filters import Filters
from orchestrator.store.query.formats import SUFFIXES, WRITERS, save_answer, text_rows
from orchestrator.store.query.imported import held_at
from orchestrator.store.query.records import StoredRecord
from orchestrator.store.query.results import Measurement, ResultRow, RunSummary, newest_run
from orchestrator.store.query.runs import SCHEMA, StoredRun, Takeout, takeout, untold, which_run
from orchestrator.store.query.stale import Installed, Stale
from orchestrator.store.records.compact import Compaction, NotCompact, compact, compact_files
from orchestrator.store.records.find import files_below, find_files, id_fault
from orchestrator.store.records.validate import Damaged, file_fault
from orchestrator.store.schema.columns import Column
from orchestrator.store.schema.origin import OURS, SYNTHETIC, Origin
from orchestrator.store.schema.parquet_columns import DEFAULTS
from orchestrator.store.schema.tables import STORE_VERSION, TABLES, Run
from orchestrator.store.schema.views import VIEWS
from orchestrator.store.store import Store

__all__ = [
    "BEST_FIRST",
    "DEFAULTS",
    "OURS",
    "SCHEMA",
    "STORE_VERSION",
    "SUFFIXES",
    "SYNTHETIC",
    "TABLES",
    "VIEWS",
    "WRITERS",
    "Answer",
    "Column",
    "Compaction",
    "Coverage",
    "Covered",
    "Damaged",
    "DatedRun",
    "Examined",
    "Exported",
    "Filters",
    "Finding",
    "Installed",
    "Measurement",
    "MergeReport",
    "NotCompact",
    "Origin",
    "Restored",
    "ResultRow",
    "Run",
    "RunSummary",
    "Size",
    "Snapshot",
    "Stale",
    "Store",
    "StoredRecord",
    "StoredRun",
    "Takeout",
    "Tidied",
    "Validation",
    "Verdicts",
    "Wanted",
    "asking",
    "compact",
    "compact_files",
    "dated_runs",
    "drop_runs",
    "examine",
    "export",
    "file_fault",
    "files_below",
    "find_files",
    "fix_database",
    "held_at",
    "id_fault",
    "newest_run",
    "query",
    "restore",
    "save_answer",
    "size_on_disk",
    "snapshots",
    "take",
    "takeout",
    "text_rows",
    "tidy",
    "untold",
    "validate_database",
    "which_run",
    "writer_lock",
]
