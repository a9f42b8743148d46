"""Records in a run's folder: those of rounds, compacted ones, and strays."""

import os
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from orchestrator.store.merge.expected import claim_fault
from orchestrator.store.records.compact import compact_files
from orchestrator.store.records.find import files_below
from orchestrator.store.records.validate import Damaged, file_fault
from orchestrator.system.files import translate_os_errors
from orchestrator.system.parquet import UNREADABLE, read_table
from runner.contract.cell import Cell
from runner.contract.errors import DamagedFile, RecordError
from runner.contract.files import atomic_file
from runner.contract.record.files import record_of, rows, write_one_row
from runner.contract.record.record import Record
from runner.contract.rounds import RoundResult, read_rounds, round_path

_NAMED = 1_000
"""Strays that are named; a job may leave any number of them."""
DROPPED_SUFFIX = ".dropped"
DAMAGED_SUFFIX = ".damaged"
COMPACT_BYTES = 8 << 30
"""Most bytes of a compact file: those of a million records."""
_IDS = ["run_id", "job_id", "cell_id"]

_Rows = Mapping[str, Mapping[str, Any]]


class RoundFiles:
    """Results of the rounds before the last one, which lie beside a run's records."""

    def __init__(self, records: Path, most: Callable[[Cell], int]) -> None:
        """`most` is the number of rounds of a cell that leave a result."""
        self._records = records
        self._most = most
        self.damaged: dict[str, Damaged] = {}
        """The results that were dropped or set aside since it was opened, by cell id."""

    def has(self, cell: Cell, round_: int) -> bool:
        """True if this round has visited the cell: its result is there, and the ones before it.

        If one of them is missing or damaged they are all dropped: the cell starts over. Where the
        last round leaves a record, no result counts in its place.
        """
        folder = self._records / cell.job_id
        if round_ > self._most(cell) or not os.path.lexists(round_path(folder, cell, round_)):
            return False
        try:
            read_rounds(folder, cell, round_)
        except (RecordError, DamagedFile) as error:
            self.damaged[cell.id] = Damaged(round_path(folder, cell, round_), str(error))
            self.drop([cell])
            return False
        return True

    def count(self, cell: Cell) -> int:
        """The rounds that have visited the cell, one after the other from the first."""
        rounds = range(self._most(cell), 0, -1)
        return next((number for number in rounds if self.has(cell, number)), 0)

    def read(self, cell: Cell, rounds: int) -> list[RoundResult]:
        return read_rounds(self._records / cell.job_id, cell, rounds)

    def paths(self, cell: Cell, kept: int = 0) -> list[Path]:
        """The files of results that the cell may have, behind so many first rounds."""
        folder = self._records / cell.job_id
        rounds = range(kept + 1, self._most(cell) + 2)
        return [round_path(folder, cell, number) for number in rounds]

    def drop(self, cells: Iterable[Cell], kept: int = 0) -> int:
        """Rename results of these cells behind so many first rounds; returns their number."""
        every = [path for cell in cells for path in self.paths(cell, kept)]
        paths = [*filter(os.path.lexists, every)]
        for path in paths:
            with translate_os_errors(path):
                path.replace(path.with_name(path.name + DROPPED_SUFFIX))
        return len(paths)


class CompactedRecords:
    """The compacted record files of one run; rows of other runs in them count for nothing."""

    def __init__(self, records: Path, run_id: str) -> None:
        self._records = records
        self._run_id = run_id
        self._known: dict[Path, tuple[tuple[int, ...], _Rows]] = {}

    def record(self, cell: Cell) -> Record | None:
        for path in compact_files(self._records):
            row = self._rows(path).get(cell.id)
            if row is not None:
                return self._record(row, cell)
        return None

    def _record(self, row: Mapping[str, Any], cell: Cell) -> Record | None:
        try:
            record = record_of(row)
        except ValidationError:  # a newer runner's, with words that this one does not know
            return None
        return record if claim_fault(record, self._run_id, cell) is None else None

    def unpack(self, cells: Iterable[Cell]) -> None:
        """Give each of these cells' records a file of its own; one that is there is the newer one.

        A file that holds other rows as well is kept under another name.
        """
        planned = {(self._run_id, cell.job_id, cell.id): cell for cell in cells}
        for path in compact_files(self._records):
            with translate_os_errors(path, "cannot be unpacked"):
                table = read_table(path, most_bytes=COMPACT_BYTES)
                if not {*_IDS}.issubset(table.column_names):
                    set_aside(path)
                    continue
                strangers = False
                for at, row in enumerate(table.select(_IDS).to_pylist()):
                    run_id, job_id, cell_id = (str(row[name]) for name in _IDS)
                    cell = planned.get((run_id, job_id, cell_id))
                    if cell is None:
                        strangers = True
                        continue
                    folder = self._records / cell.job_id
                    folder.mkdir(exist_ok=True)
                    if not (own := folder / f"{cell.id}.parquet").exists():
                        with atomic_file(own) as file:
                            write_one_row(table.slice(at, 1), file)
                if not (strangers and set_aside(path)):
                    path.unlink()

    def set_aside(self, damaged: Container[Path]) -> dict[Path, Path]:
        moved = {}
        for path in map(Path.absolute, compact_files(self._records)):
            if path in damaged and file_fault(path) and (aside := set_aside(path)):
                moved[path] = aside
        return moved

    def _rows(self, path: Path) -> _Rows:
        with translate_os_errors(path, "cannot be read"):
            status = path.stat()
            stamp = (status.st_ino, status.st_mtime_ns, status.st_size)
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            try:
                records = self._read(path)
            except (DamagedFile, *UNREADABLE):
                set_aside(path)
                return {}
        self._known[path] = stamp, records
        return records

    def _read(self, path: Path) -> _Rows:
        table = read_table(path, most_bytes=COMPACT_BYTES)
        return {row["cell_id"]: row for row in rows(table) if row["run_id"] == self._run_id}


def set_aside(path: Path) -> Path | None:
    """Give a damaged file another name, which it may have already; None if it cannot be renamed."""
    aside = aside_of(path)
    try:
        return path.replace(aside)
    except FileNotFoundError:
        return aside if os.path.lexists(aside) else None
    except OSError:
        return None


def aside_of(path: Path) -> Path:
    return path.with_name(path.name + DAMAGED_SUFFIX)


def find_strays(records: Path, files: Iterable[Path]) -> Iterator[Damaged]:
    """Those that are neither among these files nor compact, nested ones included.

    Nothing opens, moves or merges them.
    """
    known = {*files, *compact_files(records)}
    strays = (path for path in files_below(records) if path not in known)
    return (
        Damaged(path, "is the record of no planned cell; it was left where it is")
        for path in islice(strays, _NAMED)
    )
