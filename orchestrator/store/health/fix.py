"""Repair of a database: from record files, by derivation, else by quarantine; with a copy kept.

Rows in quarantine are kept aside whole, and no merge brings them back.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from glob import escape
from pathlib import Path

from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.connect import (
    WAIT_S,
    require_database,
    scalar,
    store_errors,
    transaction,
    writer_lock,
)
from orchestrator.store.database.open import open_current
from orchestrator.store.health.checks import CHECKS
from orchestrator.store.health.copies import copy_database
from orchestrator.store.health.incoming import leave_out_impossible
from orchestrator.store.health.validate import (
    ALTERED,
    RETYPED,
    Finding,
    define_conditions,
    define_sentences,
    find_all,
    redefine_views,
    schema_differences,
)
from orchestrator.store.merge.dimensions import describe_shared
from orchestrator.store.merge.merge import (
    QUARANTINED,
    REAL,
    WriteWords,
    delete_results,
    incoming_in,
    insert_records,
    write_codes,
)
from orchestrator.store.merge.staging import stage
from orchestrator.store.records.find import find_files
from orchestrator.store.records.kept import keep_decisions, kept_files
from orchestrator.store.schema.tables import (
    ACCEPTED,
    DURATIONS,
    JOB,
    JOBS,
    RAW,
    RESULTS,
    RUNS,
    SqlColumn,
    Table,
)
from orchestrator.system.files import IMPORTS_FOLDER, PACKED_IMPORTS, REMEDY

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

    @property
    def errors(self) -> frozenset[str]:
        return errors_in(self.findings)


def errors_in(findings: Iterable[Finding]) -> frozenset[str]:
    return frozenset(finding.check for finding in findings if finding.severity == "error")


def validate_database(
    path: Path, *, now: datetime | None = None, wait_s: float = WAIT_S
) -> Validation:
    require_database(path)
    return _validated(path, now or datetime.now(UTC), wait_s, read_only=True)


def fix_database(
    path: Path,
    results: Path | None,
    *,
    words: WriteWords = write_codes,
    now: datetime | None = None,
    wait_s: float = WAIT_S,
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
        for unfinished in path.parent.glob(f".{escape(path.name)}.before-fix-*.copy"):
            unfinished.unlink()  # of a fix that was killed
        copy_database(path, backup, wait_s)
        after = _fixed(path, results, now, before.errors, words, wait_s)
        if after.mended or after.quarantined:
            return replace(after, backup=backup)
        backup.unlink()
        return after


def _validated(path: Path, now: datetime, wait_s: float, *, read_only: bool) -> Validation:
    with (
        open_current(path, read_only=read_only, wait_s=wait_s)[0] as connection,
        store_errors(f"{path}: cannot be validated", "merge the record files into a new database"),
    ):
        return Validation(find_all(connection, now))


def _fixed(
    path: Path,
    results: Path | None,
    now: datetime,
    errors: frozenset[str],
    words: WriteWords,
    wait_s: float,
) -> Validation:
    connection, kind = open_current(path, read_only=False, wait_s=wait_s)
    failure = f"{path}: cannot be repaired, and nothing was changed"
    with connection, store_errors(failure, f"{REMEDY}, then try again"):
        define_conditions(connection, now)
        define_sentences(connection)
        find_faults(connection, errors)
        # Apart from the transaction, since a damaged file would end it.
        staged = stage(connection, find_files(_record_paths(connection, path, results)))
        leave_out_impossible(connection, staged.columns, now)
        with transaction(connection):
            repaired = {RECORDS: _reload(connection, words, scratch=kind.scratch)}
            find_faults(connection, errors & _OUTRIGHT)
            quarantined = _quarantine(connection)
            for check in CHECKS:
                if check.repair:
                    repaired[check.name] = _derive(connection, check.query, check.repair)
            find_faults(connection, errors_in(find_all(connection, now)))
            quarantined += _quarantine(connection)
            if altered := schema_differences(connection):
                redefine_views(connection)
            repaired[ALTERED] = len(altered) - len(schema_differences(connection))
            if quarantined:
                keep_decisions(connection, path)
        findings = find_all(connection, now)
    mended = {name: rows for name, rows in repaired.items() if rows}
    return Validation(findings, None, mended, quarantined)


_FAULTS = """
    CREATE OR REPLACE TEMP TABLE faults (
        table_name VARCHAR, row_id BIGINT, subject VARCHAR, reason VARCHAR)
"""


def find_faults(connection: DuckDBPyConnection, names: Collection[str]) -> None:
    """Make the temporary table `faults`: rows with an error of these checks that may be moved."""
    connection.execute(_FAULTS)
    for check in CHECKS:
        if check.table is not None and check.name in names:
            connection.execute(
                f"INSERT INTO faults SELECT {text(check.table)}, row_id, subject,"
                f" {text(check.name)} || coalesce(': ' || fault, '')"
                f" FROM ({check.query}) WHERE CASE WHEN source IS NULL OR is_ours(source)"
                f" THEN {check.severity == 'error'} ELSE {check.imported == 'error'} END"
            )


_FAULTY_RUNS = """
    SELECT DISTINCT split_part(subject, '/', 1) AS run_id FROM faults
    WHERE table_name <> 'benchmark_runs' ORDER BY run_id
"""
_TAKEN = f"""
    CREATE OR REPLACE TEMP TABLE restored AS
    SELECT filename, file_row_number, result_id FROM incoming
    WHERE result_id IN (SELECT subject FROM faults WHERE table_name <> 'benchmark_runs')
        AND {{welcome}} AND recorded_at <= latest_moment() AND NOT {QUARANTINED}
        AND NOT EXISTS (SELECT 1 FROM benchmark_results r WHERE r.result_id = incoming.result_id
            AND r.recorded_at > incoming.recorded_at AND r.recorded_at <= latest_moment())
    QUALIFY row_number() OVER (
        PARTITION BY result_id ORDER BY recorded_at DESC, filename, file_row_number) = 1
"""


def _record_paths(
    connection: DuckDBPyConnection, database: Path, results: Path | None
) -> Iterator[Path]:
    """The files, where there are some, with the records of the runs that have `faults`."""
    yield from kept_files(database)
    if results is None:
        return
    for (run_id,) in connection.execute(_FAULTY_RUNS).fetchall():
        for path in (results / run_id, results / IMPORTS_FOLDER / f"{run_id}.parquet"):
            if path.exists():
                yield path
    if (packed := results / IMPORTS_FOLDER / PACKED_IMPORTS).exists():
        yield packed


def _reload(connection: DuckDBPyConnection, words: WriteWords, *, scratch: bool) -> int:
    """Replace the results that have faults by their records; returns how many."""
    connection.execute(_TAKEN.format(welcome="true" if scratch else REAL))
    delete_results(connection, "SELECT result_id FROM restored")
    restored = incoming_in("restored")
    insert_records(connection, restored, words)
    describe_shared(connection, restored)
    return int(scalar(connection, "SELECT count(*) FROM restored"))


def _derive(connection: DuckDBPyConnection, query: str, repair: str) -> int:
    """Execute a check's repair on the rows in `wrong`; returns how many were changed."""
    connection.execute(f"CREATE OR REPLACE TEMP TABLE wrong AS {query}")
    statements = connection.extract_statements(repair)
    return sum(int(scalar(connection, statement.query)) for statement in statements)


def _quarantine(connection: DuckDBPyConnection) -> int:
    """Move the rows of `faults` into the table `quarantine`; returns how many."""
    count = "SELECT count(*) FROM quarantine"
    before = scalar(connection, count)
    owner = "o.result_id, split_part(o.result_id, '/', 1) AS run_id"
    for table, statement in (
        *((table, _move(table, owner)) for table in (RAW, JOBS, ACCEPTED)),
        (RESULTS, _MOVE_RESULTS),
        (RUNS, _move(RUNS, "NULL AS result_id, o.run_id")),
    ):
        connection.execute(statement)
        connection.execute(f"DELETE FROM {table.name} WHERE rowid IN ({_faulty(table)})")
    for table in (RAW, JOBS, ACCEPTED):
        connection.execute(
            f"DELETE FROM {table.name} WHERE result_id IN ("
            f"SELECT subject FROM faults WHERE table_name = 'benchmark_results')"
            f" AND result_id NOT IN (SELECT result_id FROM benchmark_results)"
        )
    return int(scalar(connection, count) - before)


def _faulty(table: Table) -> str:
    return f"SELECT row_id FROM faults WHERE table_name = {text(table.name)}"


def _reasons(table: Table) -> str:
    return (
        "(SELECT row_id, string_agg(reason, '; ' ORDER BY reason) AS reason FROM faults"
        f" WHERE table_name = {text(table.name)} GROUP BY row_id) f"
    )


def _move(table: Table, owner: str) -> str:
    return f"""
        INSERT INTO quarantine BY NAME
        SELECT {owner}, {text(table.name)} AS table_name, f.reason,
            getvariable('moment') AS quarantined_at, {_content("o", table.columns)} AS content
        FROM {_reasons(table)} JOIN {table.name} o ON o.rowid = f.row_id
    """


def _content(alias: str, columns: Sequence[SqlColumn], *more: str) -> str:
    fields = [
        f"{text(column.name)}: {_value(f'{alias}.{column.name}', column)}" for column in columns
    ]
    return f"to_json({{{', '.join([*fields, *more])}}})::VARCHAR"


def _value(name: str, column: SqlColumn) -> str:
    """The column as JSON can hold it: a number that is not finite becomes its name."""
    if column.type != "DOUBLE":
        return name
    return f"CASE WHEN isfinite({name}) THEN to_json({name}) ELSE to_json({name}::VARCHAR) END"


_OF_OTHERS = (
    *(f"{text(name)}: d.{name}" for name in DURATIONS),
    f"{text(JOB)}: j.{JOB}",
    *(f"{text(name)}: a.{name}" for name in ("because", "accepted_at", "accepted_by")),
)


def _beside(table: Table, alias: str) -> str:
    return (
        f"LEFT JOIN (SELECT * FROM {table.name} WHERE result_id NOT IN (SELECT result_id"
        f" FROM benchmark_results WHERE rowid NOT IN ({_faulty(RESULTS)}))) {alias}"
        f" ON {alias}.result_id = r.result_id"
    )


_MOVE_RESULTS = f"""
    INSERT INTO quarantine BY NAME
    SELECT r.result_id, r.run_id, 'benchmark_results' AS table_name, f.reason,
        getvariable('moment') AS quarantined_at, r.recorded_at,
        {_content("r", RESULTS.columns, *_OF_OTHERS)} AS content
    FROM {_reasons(RESULTS)} JOIN benchmark_results r ON r.rowid = f.row_id
    {_beside(RAW, "d")} {_beside(JOBS, "j")} {_beside(ACCEPTED, "a")}
"""
