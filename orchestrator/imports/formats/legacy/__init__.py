"""The shapes of JSON that the origin project, ipfs_accelerate_py, left behind."""

from orchestrator.imports.formats.legacy.checks import BY_SCRIPT, CHECK, CHECKS, CONTENT, REPORT
from orchestrator.imports.formats.legacy.comparison import COMPARISON, COMPATIBILITY, FUNCTIONALITY
from orchestrator.imports.formats.legacy.document import (
    DATABASE,
    DIGEST,
    EMPTY_SUMMARY,
    MODELS,
    SETTINGS,
)
from orchestrator.imports.formats.legacy.inference import BATCH, BY_BATCH_SIZE, DIRECT
from orchestrator.imports.formats.legacy.rows import ROWS
from orchestrator.imports.formats.legacy.suite import BROWSER, BROWSERS, PROGRESS, SUITE
from orchestrator.imports.formats.legacy.sweep import METHODS, SWEEP

LEGACY = (
    DIRECT,
    BATCH,
    PROGRESS,
    BY_BATCH_SIZE,
    BROWSER,
    BROWSERS,
    COMPARISON,
    METHODS,
    SUITE,
    SWEEP,
    FUNCTIONALITY,
    DIGEST,
    COMPATIBILITY,
    CHECKS,
    REPORT,
    CHECK,
    CONTENT,
    BY_SCRIPT,
    ROWS,
    SETTINGS,
    MODELS,
    EMPTY_SUMMARY,
    DATABASE,
)
