"""The shapes of JSON that the origin project, ipfs_accelerate_py, left behind."""

from orchestrator.imports.formats.legacy.batch import BATCH
from orchestrator.imports.formats.legacy.browser import BROWSER, BROWSERS
from orchestrator.imports.formats.legacy.by_batch_size import BY_BATCH_SIZE
from orchestrator.imports.formats.legacy.checks import BY_SCRIPT, CHECK, CHECKS, CONTENT, REPORT
from orchestrator.imports.formats.legacy.comparison import COMPARISON
from orchestrator.imports.formats.legacy.compatibility import COMPATIBILITY
from orchestrator.imports.formats.legacy.digest import DIGEST
from orchestrator.imports.formats.legacy.direct import DIRECT
from orchestrator.imports.formats.legacy.functionality import FUNCTIONALITY
from orchestrator.imports.formats.legacy.methods import METHODS
from orchestrator.imports.formats.legacy.plain import (
    DATABASE,
    EMPTY_SUMMARY,
    MODELS,
    SETTINGS,
)
from orchestrator.imports.formats.legacy.progress import PROGRESS
from orchestrator.imports.formats.legacy.rows import ROWS
from orchestrator.imports.formats.legacy.suite import SUITE
from orchestrator.imports.formats.legacy.sweep import SWEEP

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
