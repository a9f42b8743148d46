"""Merging record files: the newest record of each cell wins, in whatever order they come.

A clock may have been set back: a cell that was measured outweighs a verdict that says it never had
its chance, however new that is. Files from elsewhere replace no measurement of ours.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from duckdb import DuckDBPyConnection

from analysis.results.source import text
from orchestrator.store.database.connect import fetch, has_rows, scalar, transaction
from orchestrator.store.merge.dimensions import describe_shared, infer_runs
from orchestrator.store.merge.report import MergeReport
from orchestrator.store.merge.staging import are_small, registered, stage, unstage
from orchestrator.store.records.kept import described_runs, keep_merged
from orchestrator.store.records.validate import Damaged
from orchestrator.store.schema.parquet_columns import KNOWN
from orchestrator.store.schema.sources import Run
from orchestrator.store.schema.tables import (
    DURATIONS,
    JOBS,
    OURS,
    RAW,
    RESULTS,
    SYNTHETIC,
    WORD_COLUMNS,
    names,
)
from orchestrator.system.parquet import UNREADABLE, CheckInterrupt, read_tables
from runner.contract.record.files import arrow_schema, each_row
from runner.contract.record.record import Row
from runner.contract.record.verdict import RETRIED

WriteWords = Callable[[Row], Mapping[str, Any]]
"""Makes the words of a record, by the names of `WORD_COLUMNS`, of its codes and their facts."""


def write_codes(row: Row) -> Mapping[str, Any]:
    """The codes themselves, where nobody has words for them."""
    doubts = row["doubts"] and [doubt["code"] for doubt in row["doubts"]]
    return {
        "reason": row["reason_code"],
        "correct_reason": row["correct_code"],
        "grade_reasons": doubts,
    }


_CODED = """
    SELECT result_id, source, status, reason_code, reason_facts, proof, correct, correct_code,
        correct_facts, doubts
    FROM {records}
    WHERE status <> 'ok' OR proof <> 'proven' OR correct_code IS NOT NULL OR len(doubts) > 0
"""
_ROWS_AT_ONCE = 10_000
_TYPES = {"VARCHAR": pa.string(), "VARCHAR[]": pa.list_(pa.string())}
_WORDED = pa.schema(
    [("result_id", pa.string()), *((column.name, _TYPES[column.type]) for column in WORD_COLUMNS)]
)


@contextmanager
def _worded(connection: DuckDBPyConnection, records: str, words: WriteWords) -> Iterator[str]:
    rows: pa.Table = connection.sql(_CODED.format(records=records)).to_arrow_table()
    batches = [
        pa.RecordBatch.from_pylist(
            [
                {"result_id": row["result_id"], **words(row)}
                for row in each_row(rows.column_names, batch.columns)
            ],
            _WORDED,
        )
        for batch in rows.to_batches(_ROWS_AT_ONCE)
    ]
    with registered(connection, "worded", pa.Table.from_batches(batches, _WORDED)):
        yield f"(SELECT result_id, {names(WORD_COLUMNS)} FROM worded)"


LeaveOut = Callable[[DuckDBPyConnection, Collection[str]], Sequence[Damaged]]
"""Takes rows out of `incoming`, which has values in these columns, and says which and why."""


@dataclass(frozen=True)
class Admission:
    """Rules of which records a merge takes, and how it keeps them."""

    scratch: bool
    """True if fake and synthetic rows are welcome."""
    elsewhere: bool = False
    """True if the files are from elsewhere: a measurement of ours that is here stays."""
    leave_out: Sequence[LeaveOut] = ()
    keep_beside: Path | None = None
    """The database beside which what is taken is kept in a file; None if it has files here."""
    words: WriteWords = write_codes


_ID_COLUMNS = ("run_id", "cell_id", "recorded_at")
_IDS = pa.schema([arrow_schema().field(name) for name in _ID_COLUMNS])
_KNOWN = """
    SELECT filename, count(*)
    FROM (SELECT *, run_id || '/' || cell_id AS result_id FROM offered) offered
    LEFT JOIN (
        SELECT result_id, recorded_at AS known_at FROM benchmark_results
        WHERE run_id IN (SELECT DISTINCT run_id FROM offered)
    ) USING (result_id)
    GROUP BY filename HAVING bool_and(recorded_at IS NOT DISTINCT FROM known_at)
"""


def known_files(
    connection: DuckDBPyConnection,
    files: Sequence[Path],
    check_interrupt: CheckInterrupt = lambda: None,
) -> Mapping[Path, int]:
    """Count the records of each small file of which the database has all, of the same moment."""
    if not are_small(files) or not has_rows(connection, RESULTS.name):
        return {}
    tables = []
    for read in read_tables(files, _ID_COLUMNS, check_interrupt=check_interrupt):
        with suppress(*UNREADABLE):
            ids = read.table()
            if ids.schema.equals(_IDS):
                filenames = pa.array([str(read.path)] * len(ids), pa.string())
                tables.append(ids.append_column("filename", filenames))
    if not tables:
        return {}
    with registered(connection, "offered", pa.concat_tables(tables).combine_chunks()):
        counts = connection.execute(_KNOWN).fetchall()
    return {Path(name): count for name, count in counts}


REAL = f"(backend IS DISTINCT FROM 'fake' AND source <> '{SYNTHETIC}')"
QUARANTINED = """
    EXISTS (SELECT 1 FROM quarantine q WHERE q.result_id = incoming.result_id
        AND q.recorded_at IS NOT NULL
        AND incoming.recorded_at <= least(q.recorded_at, q.quarantined_at))
"""
"""True for a record that went into quarantine, and older ones: they do not come back by merging."""
_HAD_CHANCE = f"status NOT IN ({', '.join(map(text, RETRIED))})"
_COMPARE = f"""
    CREATE OR REPLACE TEMP TABLE unseen AS
    SELECT offered.*, known.recorded_at AS known_at, known.had_chance AS known_had_chance,
        coalesce({{elsewhere}} AND known.had_chance AND known.source = '{OURS}', false) AS stays
    FROM (
        SELECT filename, file_row_number, result_id, recorded_at, {_HAD_CHANCE} AS had_chance
        FROM incoming
        WHERE {{welcome}} AND NOT {QUARANTINED}
    ) offered
    LEFT JOIN (
        SELECT result_id, recorded_at, source, {_HAD_CHANCE} AS had_chance FROM benchmark_results
        WHERE run_id IN (SELECT DISTINCT run_id FROM incoming)
    ) known USING (result_id)
    WHERE offered.recorded_at IS DISTINCT FROM known.recorded_at
"""
_CHOOSE = """
    CREATE OR REPLACE TEMP TABLE chosen AS
    SELECT filename, file_row_number, result_id, known_at IS NOT NULL AS replaces FROM unseen
    WHERE known_at IS NULL OR NOT stays AND (had_chance > known_had_chance
        OR (had_chance = known_had_chance AND recorded_at > known_at))
    QUALIFY row_number() OVER (PARTITION BY result_id
        ORDER BY had_chance DESC, recorded_at DESC, filename, file_row_number) = 1
"""
_CONTRADICTED = """
    SELECT DISTINCT result_id FROM unseen WHERE stays AND had_chance AND recorded_at > known_at
    ORDER BY result_id
"""
_COUNT = """
    SELECT (SELECT count(*) FROM incoming),
        count(*) FILTER (NOT replaces), count(*) FILTER (replaces)
    FROM chosen
"""
_HOSTS = """
    SELECT coalesce(hostname, source) AS host, count(*) AS records FROM {taken}
    GROUP BY ALL ORDER BY records DESC, host
"""
_ENDED = """
    SELECT count(DISTINCT result_id) AS verdicts, max(recorded_at) AS last FROM (
        SELECT result_id, recorded_at FROM benchmark_results WHERE run_id = ?
        UNION ALL SELECT result_id, recorded_at FROM incoming WHERE run_id = ?)
"""
"""Records that are refused or in quarantine count as well: their cells have ended."""
_HAS_DURATIONS = " OR ".join(f"{name} IS NOT NULL" for name in DURATIONS)
_MAGNITUDE = "durations_ns[1]"
"""Durations take an eighth less room where those of the same magnitude stand together."""
_INFER = infer_runs(
    "run_id IN (SELECT DISTINCT run_id FROM {taken})"
    " AND run_id NOT IN (SELECT run_id FROM benchmark_runs WHERE described)"
)


def merge_files(
    connection: DuckDBPyConnection,
    files: Sequence[Path],
    runs: Sequence[Run],
    admission: Admission,
    check_interrupt: CheckInterrupt = lambda: None,
) -> MergeReport:
    """Merge the records of these files in one transaction; damaged files are reported."""
    known = known_files(connection, files, check_interrupt)
    staged = stage(connection, [file for file in files if file not in known], check_interrupt)
    damaged = [*staged.damaged]
    for refuse in admission.leave_out:
        damaged += refuse(connection, staged.columns)
    welcome = "true" if admission.scratch else REAL
    refused = f"SELECT result_id FROM incoming WHERE NOT {welcome} ORDER BY result_id"
    refused_ids = _first_column(connection, refused)
    connection.execute(_COMPARE.format(welcome=welcome, elsewhere=admission.elsewhere))
    connection.execute(_CHOOSE)
    ((rows, inserted, replaced),) = connection.execute(_COUNT).fetchall()
    is_all = rows == inserted
    taken = "incoming" if is_all else incoming_in("chosen")
    seen = taken if is_all or admission.elsewhere else incoming_in("unseen")
    hosts: Sequence[tuple[str, int]] = ()
    if inserted or replaced:
        hosts = connection.execute(_HOSTS.format(taken=taken)).fetchall()
    before = described_runs(connection, {run.run_id for run in runs})
    with transaction(connection):
        if replaced:
            delete_results(connection, "SELECT result_id FROM chosen WHERE replaces")
        insert_records(connection, taken, admission.words, staged.columns)
        describe_shared(connection, seen)
        for run in runs:
            _describe(connection, run)
        connection.execute(_INFER.format(taken=taken))
        if admission.keep_beside is not None:
            _keep(connection, taken, runs, before, admission.keep_beside)
    quarantined = _quarantined(connection, welcome)
    contradicted = _first_column(connection, _CONTRADICTED)
    connection.execute("DROP TABLE chosen; DROP TABLE unseen")
    unstage(connection)
    unchanged = rows - inserted - replaced - len(refused_ids) - quarantined + sum(known.values())
    return MergeReport(
        *(inserted, replaced, unchanged, tuple(damaged), refused_ids, quarantined),
        contradicted=contradicted,
        hosts=tuple(hosts),
    )


def _first_column(connection: DuckDBPyConnection, sql: str) -> tuple[str, ...]:
    return tuple(value for (value,) in connection.execute(sql).fetchall())


def _keep(
    connection: DuckDBPyConnection,
    taken: str,
    runs: Sequence[Run],
    before: Sequence[Run],
    database: Path,
) -> None:
    """Keep these records and the descriptions of their runs in a file, unless nothing is new."""
    ids = {run.run_id for run in runs}
    of_records = _first_column(connection, f"SELECT DISTINCT run_id FROM {taken}")
    if of_records or described_runs(connection, ids) != before:
        keep_merged(connection, taken, ids.union(of_records), database)


def incoming_in(table: str) -> str:
    """The incoming records that a table names; of a view DuckDB would plan hundreds of columns."""
    return f"incoming SEMI JOIN {table} USING (filename, file_row_number)"


def insert_records(
    connection: DuckDBPyConnection,
    records: str,
    words: WriteWords,
    columns: Collection[str] = KNOWN,
) -> None:
    """Store the records of a relation; all but these columns of record files are null."""
    with _worded(connection, records, words) as worded:
        for table, rows in (
            (RESULTS, f"{records} LEFT JOIN {worded} USING (result_id)"),
            (RAW, f"{records} WHERE {_HAS_DURATIONS} ORDER BY {_MAGNITUDE}"),
            (JOBS, f"{records} WHERE job IS NOT NULL"),
        ):
            selected = names(
                column
                for column in table.columns
                if column.name in columns or column.name not in KNOWN
            )
            connection.execute(f"INSERT INTO {table.name} BY NAME SELECT {selected} FROM {rows}")


def delete_results(connection: DuckDBPyConnection, ids: str) -> None:
    """Delete the results of these ids, which SELECT gives, with raw durations and jobs."""
    for table in (RESULTS, RAW, JOBS):
        connection.execute(f"DELETE FROM {table.name} WHERE result_id IN ({ids})")


def _quarantined(connection: DuckDBPyConnection, welcome: str) -> int:
    if not has_rows(connection, "quarantine WHERE recorded_at IS NOT NULL"):
        return 0
    count = scalar(
        connection,
        f"SELECT count(*) FROM incoming WHERE {welcome} AND {QUARANTINED}"
        f" AND result_id NOT IN (SELECT result_id FROM benchmark_results)",
    )
    return int(count)


def _describe(connection: DuckDBPyConnection, run: Run) -> None:
    values = [*(run.model_dump() | {"finished_at": _end(connection, run)}).values(), True]
    parameters = ", ".join("?" for _ in values)
    connection.execute(f"INSERT OR REPLACE INTO benchmark_runs VALUES ({parameters})", values)


def _end(connection: DuckDBPyConnection, run: Run) -> datetime | None:
    """The end of the run, if it says so or has a verdict for every cell of its plan."""
    if run.finished_at is not None or run.planned is None:
        return run.finished_at
    (cells,) = fetch(connection, _ENDED, run.run_id, run.run_id)
    return cells["last"] if cells["verdicts"] >= run.planned else None
