"""Names and sizes of the files that a job leaves for each of its cells."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from runner.contract.cell import Cell
from runner.contract.plain_files import RECORD_BYTES, TEXT_BYTES
from runner.contract.rounds import round_path

RECORD_SUFFIX = ".parquet"
TRACE_SUFFIX = ".trace.json"
OPERATORS_SUFFIX = ".operators.txt"
NO_TRACE_SUFFIX = ".trace.failed"
LOG_SUFFIX = ".log"
TRACE_BYTES = 1 << 30
"""Most bytes of a trace."""
_LIMITS = {
    RECORD_SUFFIX: RECORD_BYTES,
    TRACE_SUFFIX: TRACE_BYTES,
    OPERATORS_SUFFIX: TEXT_BYTES,
    NO_TRACE_SUFFIX: TEXT_BYTES,
    LOG_SUFFIX: TEXT_BYTES,
}


def output_path(folder: Path, cell: Cell, suffix: str) -> Path:
    """The path of one of a cell's files in its job's output folder."""
    return folder / f"{cell.id}{suffix}"


def output_names(cells: Iterable[Cell], rounds: int) -> Mapping[str, int]:
    """The names that files of these cells have, and how many bytes each may have at most."""
    limits: dict[str, int] = {}
    for cell in cells:
        limits |= {f"{cell.id}{suffix}": most_bytes for suffix, most_bytes in _LIMITS.items()}
        paths = (round_path(Path(), cell, number) for number in range(1, rounds + 1))
        limits |= dict.fromkeys((path.name for path in paths), RECORD_BYTES)
    return limits
