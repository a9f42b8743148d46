"""JSON formats of the origin project, ipfs_accelerate_py."""

from orchestrator.exchange.imports.formats.legacy import (
    checks,
    comparison,
    inference,
    rows,
    suite,
    sweep,
)

LEGACY = (
    *(inference.DIRECT_FORMAT, inference.BATCH_FORMAT, suite.PROGRESS_FORMAT),
    *(inference.BY_BATCH_SIZE_FORMAT, suite.BROWSER_FORMAT, suite.BROWSER_LIST_FORMAT),
    *(comparison.COMPARISON_FORMAT, sweep.METHODS_FORMAT, suite.SUITE_FORMAT, sweep.SWEEP_FORMAT),
    *(comparison.FUNCTIONALITY_FORMAT, comparison.SUMMARY_FORMAT, comparison.COMPATIBILITY_FORMAT),
    *(checks.CHECK_LIST_FORMAT, checks.CHECK_REPORT_FORMAT, checks.CHECK_FORMAT),
    *(checks.CHECK_CONTENT_FORMAT, checks.CHECKS_BY_SCRIPT_FORMAT, rows.ROWS_FORMAT),
    *(comparison.SETTINGS_FORMAT, comparison.MODELS_FORMAT, comparison.EMPTY_SUMMARY_FORMAT),
    comparison.DATABASE_FORMAT,
)
"""In the order in which they are tried."""
