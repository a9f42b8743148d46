"""Mends what can be derived, puts the rest into quarantine, and keeps a copy of what was before."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from glob import escape
from pathlib import Path

from duckdb import DuckDBPyConnection

from orchestrator.store.database.backup import copy_database
from orchestrator.store.database.errors import explained
from orchestrator.store.database.execute import transaction
from orchestrator.store.database.lock import WAIT_S, writer_lock
from orchestrator.store.database.open import open_current
from orchestrator.store.database.paths import require_database
from orchestrator.store.health.checks import CHECKS
from orchestrator.store.health.checks.order import LATER
from orchestrator.store.health.quarantine import find_faults, quarantine
from orchestrator.store.health.validate import ALTERED, RETYPED, Finding, prepare, validate
from orchestrator.store.merge.dimensions import describe_shared
from orchestrator.store.merge.merge import QUARANTINED, REAL, insert_taken
from orchestrator.store.merge.staging import stage
from orchestrator.store.records.find import find_files
from orchestrator.store.schema.columns import text
from orchestrator.store.schema.tables import JOBS, RAW, RESULTS, RUNS
from orchestrator.store.schema.version import define_anew, differences

IMPORTS = "imports"
"""The folder of imported records, among those of the runs."""
_RUNS = f"""
    SELECT DISTINCT split_part(subject, '/', 1) AS run_id FROM faults
    WHERE table_name <> {text(RUNS.name)} ORDER BY run_id
"""
_TAKEN = f"""
    CREATE OR REPLACE TEMP TABLE restored AS
    SELECT filename, file_row_number, result_id FROM incoming
    WHERE result_id IN (SELECT subject FROM faults WHERE table_name <> {text(RUNS.name)})
        AND {{welcome}} AND recorded_at <= {LATER} AND NOT {QUARANTINED}
        AND NOT EXISTS (SELECT 1 FROM {RESULTS.name} r WHERE r.result_id = incoming.result_id
            AND r.recorded_at > incoming.recorded_at AND r.recorded_at <= {LATER})
    QUALIFY row_number() OVER (
        PARTITION BY result_id ORDER BY recorded_at DESC, filename, file_row_number) = 1
"""
_VIEW = """
    CREATE OR REPLACE TEMP VIEW taken AS
    SELECT * FROM incoming SEMI JOIN restored USING (filename, file_row_number)
"""


def stage_records(connection: DuckDBPyConnection, results: Path | None) -> None:
    """The temporary relation `incoming`: the records, where they are, of the runs with `faults`.

    Apart from the transaction that restores them, since a damaged file would end it.
    """
    runs = [run_id for (run_id,) in connection.execute(_RUNS).fetchall()]
    stage(connection, find_files(_places(results, runs)) if results else [])


def restore(connection: DuckDBPyConnection, *, scratch: bool) -> int:
    """Replace the results that have faults by their records; returns how many."""
    connection.execute(_TAKEN.format(welcome="true" if scratch else REAL))
    connection.execute(_VIEW)
    for table in (RESULTS, RAW, JOBS):
        connection.execute(
            f"DELETE FROM {table.name} WHERE result_id IN (SELECT result_id FROM restored)"
        )
    insert_taken(connection)
    describe_shared(connection, "taken")
    ((count,),) = connection.execute("SELECT count(*) FROM restored").fetchall()
    return int(count)


def _places(results: Path, runs: Sequence[str]) -> Iterator[Path]:
    for run_id in runs:
        for place in (results / run_id, results / IMPORTS / f"{run_id}.parquet"):
            if place.exists():
                yield place


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
