"""The store: the DuckDB file, and the Parquet files behind it."""

from orchestrator.store.coverage import BEST_FIRST, Coverage, Covered, Verdicts
from orchestrator.store.export import Exported, Wanted, export
from orchestrator.store.query import Answer, asking, query
from orchestrator.store.reads import RunSummary, newest_run
from orchestrator.store.report import Damaged, MergeReport
from orchestrator.store.results import Measurement, ResultRow
from orchestrator.store.run import Run
from orchestrator.store.schema import schema_markdown
from orchestrator.store.select import Filters
from orchestrator.store.size import Size, size_on_disk
from orchestrator.store.stale import Installed, Stale
from orchestrator.store.store import Store
from orchestrator.store.stored_record import StoredRecord
from orchestrator.store.written import WRITERS, form_of, save_answer, shown_rows

__all__ = [
    "BEST_FIRST",
    "OURS",
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
    "form_of",
    "newest_run",
    "query",
    "save_answer",
    "schema_markdown",
    "shown_rows",
    "size_on_disk",
]
