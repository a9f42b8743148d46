"""What `validate` looks for: one file for each family of checks, all of them listed here."""

from orchestrator.store.checks.arithmetic import ARITHMETIC
from orchestrator.store.checks.check import Check, Severity
from orchestrator.store.checks.counts import COUNTS
from orchestrator.store.checks.duplicates import DUPLICATES
from orchestrator.store.checks.marks import MARKS
from orchestrator.store.checks.order import ORDER
from orchestrator.store.checks.raw import RAW_DURATIONS
from orchestrator.store.checks.references import REFERENCES
from orchestrator.store.checks.rounding import FUNCTIONS
from orchestrator.store.checks.times import TIMES
from orchestrator.store.checks.values import VALUES

CHECKS: tuple[Check, ...] = (
    *DUPLICATES,
    *REFERENCES,
    *RAW_DURATIONS,
    *ARITHMETIC,
    *VALUES,
    *ORDER,
    *TIMES,
    *MARKS,
    *COUNTS,
)
"""In this order they are told, and their mends applied: later ones build on earlier ones."""

__all__ = ["CHECKS", "FUNCTIONS", "Check", "Severity"]
