"""The checks of `validate`, in the order in which they are reported and their repairs applied."""

from orchestrator.store.health.checks.check import Check, Severity, read_sql
from orchestrator.store.health.checks.identity import CLAIMS, IDENTITY
from orchestrator.store.health.checks.numbers import CONTRADICTIONS

CHECKS: tuple[Check, ...] = (*IDENTITY, *CONTRADICTIONS, *CLAIMS)
"""Later repairs build on earlier ones."""

__all__ = ["CHECKS", "Check", "Severity", "read_sql"]
