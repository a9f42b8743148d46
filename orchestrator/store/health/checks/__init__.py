"""The checks of a database, in the order in which they are reported and their repairs applied."""

from orchestrator.store.health.checks.check import (
    Check,
    RecordCheck,
    Severity,
    read_sql,
    records_in_database,
    with_derived,
)
from orchestrator.store.health.checks.identity import CLAIMS, IDENTITY
from orchestrator.store.health.checks.numbers import CONTRADICTIONS, VALUES

CHECKS: tuple[Check, ...] = (*IDENTITY, *CONTRADICTIONS, *CLAIMS)
"""Later repairs build on earlier ones."""

RECORD_CHECKS: tuple[RecordCheck, ...] = tuple(
    check for check in (*VALUES, *CHECKS) if isinstance(check, RecordCheck)
)
"""Those that judge each record by itself: values first, since what follows from a wrong one is
wrong as well."""

__all__ = [
    "CHECKS",
    "RECORD_CHECKS",
    "Check",
    "RecordCheck",
    "Severity",
    "read_sql",
    "records_in_database",
    "with_derived",
]
