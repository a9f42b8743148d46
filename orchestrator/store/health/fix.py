"""Repair of a database: from record files, by derivation, else by quarantine; with a copy kept."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from glob import escape
from pathlib import Path

from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.backup import copy_database
from orchestrator.store.database.connect import store_errors, transaction
from orchestrator.store.database.lock import WAIT_S, require_database, writer_lock
from orchestrator.store.database.open import open_current
from orchestrator.store.health.checks.all_checks import CHECKS
from orchestrator.store.health.incoming import leave_out_impossible
from orchestrator.store.health.quarantine import find_faults, quarantine
from orchestrator.store.health.validate import ALTERED, RETYPED, Finding, define_macros, find_all
from orchestrator.store.merge.dimensions import describe_shared
from orchestrator.store.merge.merge import QUARANTINED, REAL, incoming_in, insert_records
from orchestrator.store.merge.staging import stage
from orchestrator.store.records.find import find_files
from orchestrator.store.records.kept import keep_decisions, kept_files
from orchestrator.store.schema.definition import redefine_views, schema_differences
from orchestrator.store.schema.tables import JOBS, RAW, RESULTS, RUNS
from orchestrator.system.files import IMPORTS_FOLDER, PACKED_IMPORTS, REMEDY

_RUNS = f"""
    SELECT DISTINCT split_part(subject, '/', 1) AS run_id FROM faults
    WHERE table_name <> {text(RUNS.name)} ORDER BY run_id
"""
_TAKEN = f"""
    CREATE OR REPLACE TEMP TABLE restored AS
    SELECT filename, file_row_number, result_id FROM incoming
    WHERE result_id IN (SELECT subject FROM faults WHERE table_name <> {text(RUNS.name)})
        AND {{welcome}} AND recorded_at <= latest_moment() AND NOT {QUARANTINED}
        AND NOT EXISTS (SELECT 1 FROM {RESULTS.name} r WHERE r.result_id = incoming.result_id
            AND r.recorded_at > incoming.recorded_at AND r.recorded_at <= latest_moment())
    QUALIFY row_number() OVER (
        PARTITION BY result_id ORDER BY recorded_at DESC, filename, file_row_number) = 1
"""
_RESTORED = incoming_in("restored")


def _stage_records(
    connection: DuckDBPyConnection, path: Path, results: Path | None, now: datetime
) -> None:
    """Make the relation `incoming`: the records, where there are files, of the runs with `faults`.

    Apart from the transaction that reloads them, since a damaged file would end it.
    """
    runs = [run_id for (run_id,) in connection.execute(_RUNS).fetchall()]
    stage(connection, find_files(_record_paths(path, results, runs)))
    leave_out_impossible(connection, now)


def _reload(connection: DuckDBPyConnection, *, scratch: bool) -> int:
    """Replace the results that have faults by their records; returns how many."""
    connection.execute(_TAKEN.format(welcome="true" if scratch else REAL))
    for table in (RESULTS, RAW, JOBS):
        connection.execute(
            f"DELETE FROM {table.name} WHERE result_id IN (SELECT result_id FROM restored)"
        )
    insert_records(connection, _RESTORED)
    describe_shared(connection, _RESTORED)
    return _count(connection.execute("SELECT count(*) FROM restored"))


def _record_paths(database: Path, results: Path | None, runs: Sequence[str]) -> Iterator[Path]:
    yield from kept_files(database)
    if results is None:
        return
    for run_id in runs:
        for path in (results / run_id, results / IMPORTS_FOLDER / f"{run_id}.parquet"):
            if path.exists():
                yield path
    if (packed := results / IMPORTS_FOLDER / PACKED_IMPORTS).exists():
        yield packed


RECORDS = "taken from record files"
_OUTRIGHT = frozenset(check.name for check in CHECKS if check.outright)


@dataclass(frozen=True)
class Validation:
    """The findings in a database, after the repair if one was requested."""

    findings: tuple[Finding, ...]
    backup: Path | None = None
    """A copy of the database before the repair; None if nothing was changed."""
    mended: Mapping[str, int] = field(default_factory=dict)
    """Rows that were repaired, by the check that found them."""
    quarantined: int = 0
    """Rows that were moved into quarantine."""

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
    """Find everything that is wrong with a database, and change nothing."""
    require_database(path)
    return _validated(path, now or datetime.now(UTC), wait_s, read_only=True)


def fix_database(
    path: Path, results: Path | None, *, now: datetime | None = None, wait_s: float = WAIT_S
) -> Validation:
    """Repair a database in which there are errors; all at once, and with a copy of it made first.

    Rows are taken again from the record files below the folder of results, else derived from what
    the database holds, else put into quarantine.
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


def _repair(
    connection: DuckDBPyConnection,
    path: Path,
    results: Path | None,
    now: datetime,
    errors: frozenset[str],
    *,
    scratch: bool,
) -> tuple[dict[str, int], int]:
    """Repair what these checks found, within one transaction.

    Returns how many rows were repaired, by check, and how many went into quarantine.
    """
    define_macros(connection, now)
    find_faults(connection, errors)
    _stage_records(connection, path, results, now)
    with transaction(connection):
        repaired = {RECORDS: _reload(connection, scratch=scratch)}
        find_faults(connection, errors & _OUTRIGHT)
        quarantined = quarantine(connection)
        for check in CHECKS:
            if statements := check.repair:
                repaired[check.name] = _derive(connection, check.query, statements)
        find_faults(connection, errors_in(find_all(connection, now)))
        quarantined += quarantine(connection)
        repaired[ALTERED] = _define_anew(connection)
        if quarantined:
            keep_decisions(connection, path)
    return {name: rows for name, rows in repaired.items() if rows}, quarantined


def _derive(connection: DuckDBPyConnection, query: str, statements: str) -> int:
    """Execute a check's repair on the rows in `wrong`; returns how many were changed."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE wrong AS {query}")
    return sum(
        _count(connection.execute(statement))
        for statement in connection.extract_statements(statements)
    )


def _forget_killed(path: Path) -> None:
    """Remove the unfinished copies of fixes that were killed."""
    for unfinished in path.parent.glob(f".{escape(path.name)}.before-fix-*.copy"):
        unfinished.unlink()


def _validated(path: Path, now: datetime, wait_s: float, *, read_only: bool) -> Validation:
    with (
        open_current(path, read_only=read_only, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: cannot be validated", "merge the record files into a new database"),
    ):
        return Validation(find_all(connection, now))


def _fixed(
    path: Path, results: Path | None, now: datetime, errors: frozenset[str], wait_s: float
) -> Validation:
    connection, kind = open_current(path, read_only=False, wait_s=wait_s)
    with (
        connection,
        store_errors(
            f"{path}: cannot be repaired, and nothing was changed", f"{REMEDY}, then try again"
        ),
    ):
        repaired, quarantined = _repair(
            connection, path, results, now, errors, scratch=kind.scratch
        )
        findings = find_all(connection, now)
    return Validation(findings, None, repaired, quarantined)


def _define_anew(connection: DuckDBPyConnection) -> int:
    """Restore altered views and comments; returns how many."""
    altered = schema_differences(connection)
    if altered:
        redefine_views(connection)
    return len(altered) - len(schema_differences(connection))


def _count(connection: DuckDBPyConnection) -> int:
    ((count,),) = connection.fetchall()
    return int(count)
