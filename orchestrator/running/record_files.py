"""Files beside a run's plain record files: results of earlier rounds, and compacted records."""

from collections.abc import Container, Iterable, Iterator, Mapping
from os import stat_result
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import ValidationError

from orchestrator.store import compact_files, file_fault
from orchestrator.system.files import translate_os_errors
from runner.contract.cell import Cell
from runner.contract.errors import RecordError
from runner.contract.files import atomic_file
from runner.contract.record import UNREADABLE, Record, read_table, record_of, rows, write_records
from runner.contract.rounds import read_rounds, round_path

_DROPPED_SUFFIX = ".dropped"
_DAMAGED_SUFFIX = ".damaged"

_Rows = Mapping[str, Mapping[str, Any]]
"""Records by cell id."""


class RoundFiles:
    """Results of the rounds before the last one, which lie beside a run's records."""

    def __init__(self, records: Path) -> None:
        self._records = records

    def has(self, cell: Cell, round_: int) -> bool:
        """True if this round has visited the cell: its result is there, and the ones before it.

        If one of them is missing or damaged they are all dropped: the cell starts over.
        """
        folder = self._records / cell.job_id
        if not round_path(folder, cell, round_).exists():
            return False
        try:
            read_rounds(folder, cell, round_)
        except RecordError:
            self.drop([cell])
            return False
        return True

    def drop(self, cells: Iterable[Cell]) -> int:
        """Rename all results of these cells, so that nothing reads them; returns their number."""
        paths = [path for cell in cells for path in self._paths(cell)]
        for path in paths:
            with translate_os_errors(path):
                path.replace(path.with_name(path.name + _DROPPED_SUFFIX))
        return len(paths)

    def _paths(self, cell: Cell) -> Iterator[Path]:
        folder = self._records / cell.job_id
        return (path for path in folder.glob("*.json") if path.name.startswith(f"{cell.id}.round"))


class CompactedRecords:
    """The compacted record files of one run."""

    def __init__(self, records: Path) -> None:
        self._records = records
        self._known: dict[Path, tuple[tuple[int, ...], _Rows]] = {}

    def record(self, cell: Cell) -> Record | None:
        """The cell's record, or None; a damaged file is set aside under another name."""
        for path in compact_files(self._records):
            row = self._rows(path).get(cell.id)
            if row is not None:
                return _record(row)
        return None

    def unpack(self) -> None:
        """Give each record a file of its own again; one that is there is the newer one.

        Raises:
            StoreError: the file system refused; the compact file is still there.
        """
        for path in compact_files(self._records):
            with translate_os_errors(path, "cannot be unpacked"):
                table = read_table(path)
                for at, row in enumerate(table.select(["job_id", "cell_id"]).to_pylist()):
                    folder = self._records / row["job_id"]
                    folder.mkdir(exist_ok=True)
                    _write_missing(folder / f"{row['cell_id']}.parquet", table.slice(at, 1))
                path.unlink()

    def set_aside(self, damaged: Container[Path]) -> dict[Path, Path]:
        """Rename those of these files that cannot be read; returns where each of them is now."""
        moved = {}
        for path in map(Path.absolute, compact_files(self._records)):
            if path in damaged and file_fault(path) and (aside := set_aside(path)):
                moved[path] = aside
        return moved

    def _rows(self, path: Path) -> _Rows:
        with translate_os_errors(path, "cannot be read"):
            stamp = _stamp(path.stat())
            known = self._known.get(path)
            if known is not None and known[0] == stamp:
                return known[1]
            content = path.read_bytes()
        try:
            records = {row["cell_id"]: row for row in rows(read_table(content))}
        except UNREADABLE:
            set_aside(path)
            return {}
        self._known[path] = stamp, records
        return records


def set_aside(path: Path) -> Path | None:
    """Give a damaged file another name; None if it cannot be renamed."""
    aside = path.with_name(path.name + _DAMAGED_SUFFIX)
    try:
        return path.replace(aside)
    except OSError:
        return None


def _record(row: Mapping[str, Any]) -> Record | None:
    try:
        return record_of(row)
    except ValidationError:  # a newer runner's, with words that this one does not know
        return None


def _write_missing(path: Path, row: pa.Table) -> None:
    if not path.exists():
        with atomic_file(path) as file:
            write_records(row, file)


def _stamp(stat: stat_result) -> tuple[int, ...]:
    return stat.st_ino, stat.st_mtime_ns, stat.st_size
