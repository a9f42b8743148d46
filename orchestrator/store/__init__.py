"""The store: the DuckDB file, and the Parquet files behind it."""

from orchestrator.store.merging.report import Damaged, MergeReport
from orchestrator.store.reading.coverage import BEST_FIRST, Coverage, Covered, Verdicts
from orchestrator.store.reading.export import Exported, Wanted, export
from orchestrator.store.reading.query import Answer, asking, query
from orchestrator.store.reading.reads import RunSummary, newest_run
from orchestrator.store.reading.results import Measurement, ResultRow
from orchestrator.store.reading.select import Filters
from orchestrator.store.reading.size import Size, size_on_disk
from orchestrator.store.reading.stale import Installed, Stale
from orchestrator.store.reading.stored_record import StoredRecord
from orchestrator.store.reading.written import SUFFIXES, WRITERS, save_answer, shown_rows
from orchestrator.store.schema.page import schema_markdown
from orchestrator.store.schema.run import Run
from orchestrator.store.store import Store

__all__ = [
    "BEST_FIRST",
    "OURS",
    "SUFFIXES",
    "WRITERS",
    "Answer",
    "Coverage",
    "Covered",
    "Damaged",
    "Exported",
    "Filters",
    "Installed",
    "Measurement",
    "MergeReport",
    "ResultRow",
    "Run",
    "RunSummary",
    "Size",
    "Stale",
    "Store",
    "StoredRecord",
    "Verdicts",
    "Wanted",
    "asking",
    "export",
    "newest_run",
    "query",
    "save_answer",
    "schema_markdown",
    "shown_rows",
    "size_on_disk",
]
