"""The store: the DuckDB file, and the Parquet files behind it."""

from orchestrator.store.query import query, to_csv, to_json
from orchestrator.store.reads import RunSummary
from orchestrator.store.report import Damaged, MergeReport
from orchestrator.store.results import Measurement, ResultRow
from orchestrator.store.run import Run
from orchestrator.store.schema import schema_markdown
from orchestrator.store.store import Store

__all__ = [
    "Damaged",
    "Measurement",
    "MergeReport",
    "ResultRow",
    "Run",
    "RunSummary",
    "Store",
    "query",
    "schema_markdown",
    "to_csv",
    "to_json",
]
