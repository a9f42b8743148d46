"""JSON formats of the origin project, ipfs_accelerate_py."""

from orchestrator.exchange.imports.formats.legacy import checks, comparison, results, suite

LEGACY = (
    *(results.DIRECT_FORMAT, results.BATCH_FORMAT, suite.PROGRESS_FORMAT),
    *(results.BY_BATCH_SIZE_FORMAT, suite.BROWSER_FORMAT, suite.BROWSER_LIST_FORMAT),
    *(comparison.COMPARISON_FORMAT, suite.METHODS_FORMAT, suite.SUITE_FORMAT, suite.SWEEP_FORMAT),
    *(comparison.FUNCTIONALITY_FORMAT, comparison.SUMMARY_FORMAT, comparison.COMPATIBILITY_FORMAT),
    *(checks.CHECK_LIST_FORMAT, checks.CHECK_REPORT_FORMAT, checks.CHECK_FORMAT),
    *(checks.CHECK_CONTENT_FORMAT, checks.CHECKS_BY_SCRIPT_FORMAT, results.ROWS_FORMAT),
    *(comparison.SETTINGS_FORMAT, comparison.MODELS_FORMAT, comparison.EMPTY_SUMMARY_FORMAT),
    comparison.DATABASE_FORMAT,
)
"""In the order in which they are tried."""
