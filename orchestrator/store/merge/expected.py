"""Records that a merge of one run expects, and what it leaves out since nobody asked for it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection

from orchestrator.store.database.connect import fetch
from orchestrator.store.merge.staging import leave_out, registered
from orchestrator.store.records.validate import Damaged
from orchestrator.store.schema.tables import OURS
from orchestrator.system.text import plural
from runner.contract.cell import Cell
from runner.contract.record.files import arrow_schema
from runner.contract.record.record import Record

IDS = ("run_id", "job_id", "cell_id")
CELL_COLUMNS = tuple(Cell.model_fields)
_LETTERS = 100
"""Letters of a claim that are shown."""


@dataclass(frozen=True)
class ExpectedCell:
    """The ids of a cell's record, and its axes where they are known."""

    job_id: str
    cell_id: str
    axes: Mapping[str, object] = field(default_factory=dict)
    """Columns and the values they must have; empty if nothing but the ids is known."""

    @classmethod
    def of(cls, cell: Cell) -> "ExpectedCell":
        """The cell as a plan has it, without what the runner finds."""
        axes = cell.model_dump()
        if cell.threads is None:
            del axes["threads"]
        if cell.scenario == "offline":
            del axes["batch_size"]
        return cls(cell.job_id, cell.id, axes)


@dataclass(frozen=True)
class ExpectedRecords:
    """The record files of one run: what they may hold."""

    run_id: str
    cells: Mapping[Path, ExpectedCell]
    """The cell of each file that holds one record, there or not; its path is absolute. Any other
    file that is merged may hold records of several of these cells."""
    planned: bool = True
    """False if the plan is unknown, so that such a file may hold records of any cell."""

    @property
    def table(self) -> pa.Table:
        """One row a cell."""
        rows = [
            {
                "filename": str(path),
                "run_id": self.run_id,
                "job_id": cell.job_id,
                "cell_id": cell.cell_id,
                "has_axes": bool(cell.axes),
                **cell.axes,
            }
            for path, cell in self.cells.items()
        ]
        return pa.Table.from_pylist(rows, _SCHEMA)


_SCHEMA = pa.schema(
    [
        pa.field("filename", pa.string()),
        pa.field("has_axes", pa.bool_()),
        *(arrow_schema().field(name) for name in (*IDS, *CELL_COLUMNS)),
    ]
)


def claim_fault(record: Record, run_id: str, cell: Cell) -> str | None:
    """The reason why a record is not that of this run's cell; None if it is."""
    planned = ExpectedCell.of(cell)
    expected = {"run_id": run_id, "job_id": planned.job_id, "cell_id": planned.cell_id}
    for name, value in {**expected, **planned.axes}.items():
        if (claim := getattr(record, name)) != value:
            return fault_of_claim(name, claim, value)
    return None


def fault_of_claim(column: str, claim: object, value: object) -> str:
    """The reason why a record that claims this value of a column is not the expected one."""
    letters = repr(claim)
    shown = letters if len(letters) <= _LETTERS else f"{letters[:_LETTERS]}…"
    return f"is not the record that was asked for: its {column} is {shown}, not {value!r}"


_FOUND = ("batch_size", "threads")
"""Axes that the runner may find out."""


def _fault(column: str, known: str) -> str:
    fault = (
        f"{{'name': '{column}', 'claim': {column}::VARCHAR, 'value': expected_{column}::VARCHAR}}"
    )
    return f"WHEN {known} AND {column} IS DISTINCT FROM expected_{column} THEN {fault}"


_CLAIMS = " ".join(
    [
        _fault("run_id", "true"),
        *(_fault(column, "has_expectation") for column in ("cell_id", "job_id")),
        *(_fault(column, "has_axes") for column in CELL_COLUMNS if column not in _FOUND),
        _fault("threads", "has_axes AND expected_threads IS NOT NULL"),
        _fault("batch_size", "has_axes AND expected_scenario <> 'offline'"),
        f"WHEN source <> '{OURS}' THEN {{'name': 'source', 'claim': source, 'value': '{OURS}'}}",
        "WHEN is_own AND file_row_number > 0 THEN"
        " {'name': 'number in the file', 'claim': (file_row_number + 1)::VARCHAR, 'value': '1'}",
    ]
)
_EXPECTATIONS = ", ".join(f"expected.{name} AS expected_{name}" for name in (*IDS, *CELL_COLUMNS))
_OTHERS = _EXPECTATIONS.removeprefix("expected.run_id AS expected_run_id, ")
_FIND = f"""
    CREATE OR REPLACE TEMP TABLE strangers AS
    SELECT filename, file_row_number, CASE {_CLAIMS} END AS fault FROM (
        SELECT incoming.*, {_EXPECTATIONS}, true AS is_own, true AS has_expectation, has_axes
        FROM incoming JOIN expected USING (filename)
        UNION ALL BY NAME
        SELECT incoming.*, $run_id AS expected_run_id, {_OTHERS}, false AS is_own,
            $planned OR expected.cell_id IS NOT NULL AS has_expectation,
            coalesce(has_axes, false) AS has_axes
        FROM incoming ANTI JOIN expected USING (filename)
        LEFT JOIN expected ON incoming.cell_id = expected.cell_id
    ) WHERE fault IS NOT NULL
"""
_COUNT = """
    SELECT filename, count(*) AS rows, arg_min(fault, file_row_number) AS fault,
        filename IN (SELECT filename FROM expected) AS is_own
    FROM strangers GROUP BY filename ORDER BY filename
"""
_LEFT_OUT = """
    CREATE OR REPLACE TEMP TABLE strange_rows AS
    SELECT filename, file_row_number FROM strangers UNION
    SELECT filename, file_row_number FROM incoming
    WHERE filename IN (SELECT filename FROM strangers SEMI JOIN expected USING (filename))
"""


def leave_out_strangers(connection: DuckDBPyConnection, expected: ExpectedRecords) -> list[Damaged]:
    """Take rows that nobody asked for out of `incoming`; returns the files that held some.

    A file of one record is left out as a whole; of a file of many, these rows alone are.
    """
    with registered(connection, "expected", expected.table):
        claims = {"run_id": expected.run_id, "planned": expected.planned}
        connection.execute(_FIND, claims)
        files = list(fetch(connection, _COUNT))
        if files:
            connection.execute(_LEFT_OUT)
    if files:
        leave_out(connection, "strange_rows")
    damaged = []
    for file in files:
        fault, rows = file["fault"], file["rows"]
        reason = fault_of_claim(fault["name"], fault["claim"], fault["value"])
        if not file["is_own"]:
            reason = f"{rows} {plural(rows, 'row')} left out; the first {reason}"
        damaged.append(Damaged(Path(file["filename"]), reason))
    return damaged
