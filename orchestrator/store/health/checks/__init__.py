"""What `validate` looks for: one file for each family of checks, all of them listed here."""

from orchestrator.store.health.checks.check import Check, Severity
from orchestrator.store.health.checks.derived import ARITHMETIC, FUNCTIONS
from orchestrator.store.health.checks.identity import DUPLICATES, REFERENCES
from orchestrator.store.health.checks.marks import MARKS
from orchestrator.store.health.checks.order import ORDER, TIMES
from orchestrator.store.health.checks.raw import RAW_DURATIONS
from orchestrator.store.health.checks.values import COUNTS, VALUES

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
