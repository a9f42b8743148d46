"""Records that a merge of one run expects: what a record must say of itself to be a cell's own."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

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
        """The cell as a plan has it. In the scenario `offline` the runner finds the batch size.

        Where no number of threads was planned, the runner finds that too.
        """
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
        """One row a cell: its file, its ids and axes, and whether the axes are known."""
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
