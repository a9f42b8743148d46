"""Validation of a database, and its repair."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from orchestrator.store import Finding, fix_database, validate_database


@dataclass(frozen=True)
class ValidationReport:
    """The findings in a database, after the repair if one was requested."""

    database: Path
    clean: bool
    """True if there are no errors."""
    findings: tuple[Finding, ...]
    mended: Mapping[str, int]
    """Rows that were repaired, by check."""
    quarantined: int
    """Rows that were moved into quarantine."""
    backup: Path | None
    """A copy of the database before the repair; None if nothing was changed."""


def validate_results(database: Path, results: Path, *, fix: bool = False) -> ValidationReport:
    """Check a database; with `fix`, repair it from the record files in the results folder.

    Raises:
        StoreError: there is no database, it is in use, or the file system refuses.
    """
    checked = fix_database(database, results) if fix else validate_database(database)
    return ValidationReport(
        database=database,
        clean=not checked.errors,
        findings=checked.findings,
        mended=checked.mended,
        quarantined=checked.quarantined,
        backup=checked.backup,
    )
