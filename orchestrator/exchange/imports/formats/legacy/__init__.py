"""JSON formats of the origin project, ipfs_accelerate_py."""

from orchestrator.exchange.imports.formats.legacy.checks import (
    CHECK_CONTENT_FORMAT,
    CHECK_FORMAT,
    CHECK_LIST_FORMAT,
    CHECK_REPORT_FORMAT,
    CHECKS_BY_SCRIPT_FORMAT,
)
from orchestrator.exchange.imports.formats.legacy.comparison import (
    COMPARISON_FORMAT,
    COMPATIBILITY_FORMAT,
    FUNCTIONALITY_FORMAT,
)
from orchestrator.exchange.imports.formats.legacy.inference import (
    BATCH_FORMAT,
    BY_BATCH_SIZE_FORMAT,
    DIRECT_FORMAT,
)
from orchestrator.exchange.imports.formats.legacy.rows import ROWS_FORMAT
from orchestrator.exchange.imports.formats.legacy.suite import (
    BROWSER_FORMAT,
    BROWSER_LIST_FORMAT,
    PROGRESS_FORMAT,
    SUITE_FORMAT,
)
from orchestrator.exchange.imports.formats.legacy.summaries import (
    DATABASE_FORMAT,
    EMPTY_SUMMARY_FORMAT,
    MODELS_FORMAT,
    SETTINGS_FORMAT,
    SUMMARY_FORMAT,
)
from orchestrator.exchange.imports.formats.legacy.sweep import METHODS_FORMAT, SWEEP_FORMAT

LEGACY = (
    DIRECT_FORMAT,
    BATCH_FORMAT,
    PROGRESS_FORMAT,
    BY_BATCH_SIZE_FORMAT,
    BROWSER_FORMAT,
    BROWSER_LIST_FORMAT,
    COMPARISON_FORMAT,
    METHODS_FORMAT,
    SUITE_FORMAT,
    SWEEP_FORMAT,
    FUNCTIONALITY_FORMAT,
    SUMMARY_FORMAT,
    COMPATIBILITY_FORMAT,
    CHECK_LIST_FORMAT,
    CHECK_REPORT_FORMAT,
    CHECK_FORMAT,
    CHECK_CONTENT_FORMAT,
    CHECKS_BY_SCRIPT_FORMAT,
    ROWS_FORMAT,
    SETTINGS_FORMAT,
    MODELS_FORMAT,
    EMPTY_SUMMARY_FORMAT,
    DATABASE_FORMAT,
)
