"""Mends what can be derived, puts the rest into quarantine, and keeps a copy of what was before."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from glob import escape
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.file.backup import copy_database
from orchestrator.store.file.connect import WAIT_S
from orchestrator.store.file.explaining import explained
from orchestrator.store.file.forward import open_current
from orchestrator.store.file.lock import writer_lock
from orchestrator.store.file.paths import require_database
from orchestrator.store.file.transaction import transaction
from orchestrator.store.health.checks import CHECKS
from orchestrator.store.health.quarantine import find_faults, quarantine
from orchestrator.store.health.restoring import restore, stage_records
from orchestrator.store.health.validate import ALTERED, RETYPED, Finding, prepare, validate
from orchestrator.store.schema.definition import differences
from orchestrator.store.schema.making import define_anew

RECORDS = "taken from record files"
OUTRIGHT = frozenset(check.name for check in CHECKS if check.outright)


@dataclass(frozen=True)
class Validation:
    """What is wrong with a database, after it was mended if that was asked for."""

    findings: tuple[Finding, ...]
    backup: Path | None = None
    """The database as it was before it was mended; None if nothing was changed."""
    mended: Mapping[str, int] = field(default_factory=dict)
    """Rows that were mended, by the check that found them."""
    quarantined: int = 0
    """Rows that went into quarantine."""

    @property
    def errors(self) -> frozenset[str]:
        """The checks that found errors."""
        return errors_in(self.findings)


def errors_in(findings: Iterable[Finding]) -> frozenset[str]:
    """The checks that found errors."""
    return frozenset(finding.check for finding in findings if finding.severity == "error")


def validate_database(
    path: Path, *, now: datetime | None = None, wait_s: float = WAIT_S
) -> Validation:
    """Look for everything that is wrong with a database, and change nothing.

    Raises:
        StoreError: there is none, it is being written for longer than `wait_s` seconds, or it is
            not ours.
    """
    require_database(path)
    return _validated(path, now or datetime.now(UTC), wait_s, read_only=True)


def fix_database(
    path: Path, results: Path | None, *, now: datetime | None = None, wait_s: float = WAIT_S
) -> Validation:
    """Mend a database in which there are errors; all at once, and with a copy of it made first.

    Rows are taken again from the record files below the folder of results, else derived from what
    the database holds, else put into quarantine.

    Raises:
        StoreError: there is none, it is in use for longer than `wait_s` seconds, or the file system
            refuses; it is as it was then.
    """
    require_database(path)
    now = now or datetime.now(UTC)
    with writer_lock(path, wait_s):
        before = _validated(path, now, wait_s, read_only=False)
        if not before.errors or RETYPED in before.errors:
            return before
        backup = path.with_name(f"{path.name}.before-fix-{now:%Y%m%dT%H%M%SZ}")
        _forget_killed(path)
        copy_database(path, backup, wait_s)
        after = _fixed(path, results, now, before.errors, wait_s)
        if after.mended or after.quarantined:
            return replace(after, backup=backup)
        backup.unlink()
        return after


def mend(
    connection: DuckDBPyConnection,
    results: Path | None,
    now: datetime,
    errors: frozenset[str],
    *,
    scratch: bool,
) -> tuple[dict[str, int], int]:
    """Mend what these checks found, within one transaction.

    Returns how many rows were mended, by check, and how many went into quarantine.
    """
    prepare(connection, now)
    find_faults(connection, errors)
    stage_records(connection, results)
    with transaction(connection):
        mended = {RECORDS: restore(connection, scratch=scratch)}
        find_faults(connection, errors & OUTRIGHT)
        quarantined = quarantine(connection)
        for check in CHECKS:
            for statement in check.mends:
                mended[check.name] = mended.get(check.name, 0) + _changed(connection, statement)
        find_faults(connection, errors_in(validate(connection, now)))
        quarantined += quarantine(connection)
        mended[ALTERED] = _define_anew(connection)
    return {name: rows for name, rows in mended.items() if rows}, quarantined


def _forget_killed(path: Path) -> None:
    """Remove the unfinished copies of fixes that were killed."""
    for unfinished in path.parent.glob(f".{escape(path.name)}.before-fix-*.copy"):
        unfinished.unlink()


def _validated(path: Path, now: datetime, wait_s: float, *, read_only: bool) -> Validation:
    with (
        open_current(path, read_only=read_only, wait_s=wait_s)[0] as connection,
        explained(f"{path}: cannot be validated", "merge the record files into a new database"),
    ):
        return Validation(validate(connection, now))


def _fixed(
    path: Path, results: Path | None, now: datetime, errors: frozenset[str], wait_s: float
) -> Validation:
    connection, kind = open_current(path, read_only=False, wait_s=wait_s)
    with (
        connection,
        explained(
            f"{path}: cannot be mended, and nothing was changed",
            "see that the disk is not full, then try again",
        ),
    ):
        mended, quarantined = mend(connection, results, now, errors, scratch=kind.scratch)
        findings = validate(connection, now)
    return Validation(findings, None, mended, quarantined)


def _define_anew(connection: DuckDBPyConnection) -> int:
    """How many views and comments that were altered are as they should be."""
    altered = differences(connection)
    if altered:
        define_anew(connection)
    return len(altered) - len(differences(connection))


def _changed(connection: DuckDBPyConnection, statement: str) -> int:
    ((count,),) = connection.execute(statement).fetchall()
    return int(count)
