"""The store: the DuckDB file, and the Parquet files behind it."""

from orchestrator.store.merge.report import MergeReport
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
from orchestrator.store.query.formats import SUFFIXES, WRITERS, save_answer, shown_rows
from orchestrator.store.query.records import StoredRecord
from orchestrator.store.query.results import Measurement, ResultRow, RunSummary, newest_run
from orchestrator.store.query.stale import Installed, Stale
from orchestrator.store.records.validate import Damaged
from orchestrator.store.schema.page import schema_markdown
from orchestrator.store.schema.tables import Run
from orchestrator.store.store import Store

__all__ = [
    "BEST_FIRST",
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
