"""What earlier rounds measured of a run's cells, until the last round makes it a record."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from orchestrator.whole_files import storing
from runner.cell import Cell
from runner.errors import RecordError
from runner.part import part_path, read_parts

DROPPED_SUFFIX = ".dropped"


class RunParts:
    """The parts of one run, which lie beside its records."""

    def __init__(self, records: Path) -> None:
        self._records = records

    def has(self, cell: Cell, round_: int) -> bool:
        """Whether this round has visited the cell: its part is there, and the ones before it.

        If one of them is missing or damaged they are all dropped: the cell starts over.
        """
        folder = self._records / cell.job_id
        if not part_path(folder, cell, round_).exists():
            return False
        try:
            read_parts(folder, cell, round_)
        except RecordError:
            self.drop([cell])
            return False
        return True

    def drop(self, cells: Iterable[Cell]) -> int:
        """Set all parts of these cells aside under another name; returns how many there were."""
        found = [path for cell in cells for path in self._parts(cell)]
        for path in found:
            with storing(path):
                path.replace(path.with_name(path.name + DROPPED_SUFFIX))
        return len(found)

    def _parts(self, cell: Cell) -> Iterator[Path]:
        folder = self._records / cell.job_id
        return (path for path in folder.glob("*.json") if path.name.startswith(f"{cell.id}.round"))
