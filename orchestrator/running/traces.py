"""Traces that the cells of a run left, and the reasons of those that are missing."""

from collections.abc import Iterator
from pathlib import Path

from orchestrator.running.folder import RunFolder
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.text import first_line
from runner.contract.cell import Cell
from runner.contract.files import TEXT_BYTES, is_plain, read_plain_text
from runner.contract.reasons import parse_reason
from runner.contract.rounds import NO_TRACE_SUFFIX, TRACE_BYTES, TRACE_SUFFIX, output_path


def saved_traces(folder: RunFolder) -> list[Path]:
    """The traces of planned cells."""
    paths = (path for _, path in _outputs(folder, TRACE_SUFFIX))
    return sorted(path for path in paths if is_plain(path, TRACE_BYTES))


def failed_traces(folder: RunFolder) -> dict[str, str]:
    """The reasons of traces that are missing, a line each, by the id of the planned cell."""
    outputs = _outputs(folder, NO_TRACE_SUFFIX)
    files = {cell.id: path for cell, path in outputs if is_plain(path, TEXT_BYTES)}
    reasons = {cell_id: parse_reason(read_plain_text(path)) for cell_id, path in files.items()}
    return {
        cell_id: first_line(reason_text(explanation)) for cell_id, explanation in reasons.items()
    }


def _outputs(folder: RunFolder, suffix: str) -> Iterator[tuple[Cell, Path]]:
    for cell in folder.cells:
        yield cell, output_path(folder.records / cell.job_id, cell, suffix)
