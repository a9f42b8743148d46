"""What `validate` looks for: one file for each family of checks, all of them listed here."""

from orchestrator.store.health.checks.arithmetic import ARITHMETIC
from orchestrator.store.health.checks.check import Check, Severity
from orchestrator.store.health.checks.counts import COUNTS
from orchestrator.store.health.checks.duplicates import DUPLICATES
from orchestrator.store.health.checks.marks import MARKS
from orchestrator.store.health.checks.order import ORDER
from orchestrator.store.health.checks.raw import RAW_DURATIONS
from orchestrator.store.health.checks.references import REFERENCES
from orchestrator.store.health.checks.rounding import FUNCTIONS
from orchestrator.store.health.checks.times import TIMES
from orchestrator.store.health.checks.values import VALUES

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
