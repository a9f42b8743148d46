"""Progress lines of a job, read as claims: whatever a line holds, it is an event or nothing."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from orchestrator.launchers.output import LINE_BYTES
from runner.contract.cell import Cell
from runner.contract.record.verdict import Phase

EventKind = Literal["phase", "recorded", "visited"]
"""A phase begins; a cell's record is in the output folder; a round's result of it is."""

_PHASES: Mapping[object, Phase] = {phase: phase for phase in get_args(Phase)}
_KINDS: Mapping[object, EventKind] = {kind: kind for kind in get_args(EventKind)}


@dataclass(frozen=True)
class ProgressEvent:
    """An event of which a job speaks."""

    kind: EventKind
    cell: Cell | None
    """The cell, one of the job's; None for phases that concern all of them."""
    phase: Phase | None = None
    """The phase that begins; None for the other kinds."""


def read_event(line: str, cells: Mapping[str, Cell]) -> ProgressEvent | None:
    """The event that the line tells; None for every other text.

    Args:
        line: anything.
        cells: the job's cells by id; lines about others tell nothing.
    """
    event = _fields(line)
    kind = _KINDS.get(_text(event, "event"))
    phase = _PHASES.get(_text(event, "phase"))
    cell = cells.get(_text(event, "cell_id"))
    if kind == "phase":
        concerns_all = event.get("cell_id", "") is None
        return ProgressEvent(kind, cell, phase) if phase and (cell or concerns_all) else None
    return ProgressEvent(kind, cell) if kind and cell else None


def _text(event: Mapping[str, Any], key: str) -> str:
    value = event.get(key)
    return value if isinstance(value, str) else ""


def _fields(line: str) -> Mapping[str, Any]:
    if len(line) > LINE_BYTES:
        return {}
    try:
        event = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return event if isinstance(event, dict) else {}
