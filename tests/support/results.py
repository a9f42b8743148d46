"""Rows of results, stale groups and verifications, with values that a test may change."""

from dataclasses import fields
from datetime import date
from typing import Any

from analysis.results.metrics import SHOWN_NUMBERS
from analysis.results.row import ResultRow
from analysis.results.trust import Neighbour
from orchestrator.commands.measure.verification import Verification, VerifiedCell
from orchestrator.screen.words.reasons import remedy_text
from orchestrator.store.query.results import Measurement
from orchestrator.store.query.state import Stale
from tests.support.data import sample
from tests.support.records import RECORDED_AT

_SAMPLE = sample("row")
_ROW, _MEASURED = _SAMPLE["row"], _SAMPLE["measured"]
_AXES: dict[str, tuple[Any, ...]] = {
    "model": ("bert-tiny", "gpt2"),
    "precision": ("fp32",),
    "mode": ("inference",),
    "scenario": ("single_stream",),
    "batch_size": (1, 8),
    "sequence_length": (128,),
}
_UNMEASURED = (
    *("correct", "grade", "doubts", "throughput", "memory_mb"),
    *(name for name in _ROW if name.startswith("latency")),
)


def a_row(cell_id: str, **changes: Any) -> ResultRow:
    """A sound result."""
    return ResultRow(**_with_numbers({"cell_id": cell_id, **_ROW} | changes))


def _with_numbers(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a row, those that are no field of it under `numbers`."""
    names = {field.name for field in fields(Measurement)}
    numbers = {metric.column: values.get(metric.column) for metric in SHOWN_NUMBERS}
    return {
        **{name: value for name, value in values.items() if name in names},
        "numbers": {name: value for name, value in numbers.items() if name not in names},
    }


def a_failed_row(cell_id: str, status: str, reason: str) -> ResultRow:
    """A verdict without a measurement."""
    nothing = dict.fromkeys(_UNMEASURED)
    remedy = remedy_text(status, None)
    known = {"reason": reason, "reason_code": "said", "reason_facts": {"text": reason}}
    return a_row(cell_id, **nothing, **known, status=status, remedy=remedy, proof="none")


def a_neighbour(row: ResultRow, **changes: Any) -> Neighbour:
    """The numbers of a row as those of an earlier run with the same software."""
    names = {field.name for field in fields(Neighbour)}
    facts = {name: value for name, value in vars(row).items() if name in names}
    known = {"run_id": "run-0", "same_software": True, "measured_at": RECORDED_AT}
    return Neighbour(**facts | known | changes)


def a_measurement(**changes: Any) -> Measurement:
    """A sound result with what it takes to measure it again."""
    return Measurement(**_with_numbers({"cell_id": "cell-1", **_ROW, **_MEASURED} | changes))


def a_stale_group(*, axes: dict[str, tuple[Any, ...]] | None = None, **changes: Any) -> Stale:
    """Two cells that were measured with an older torch."""
    values: dict[str, Any] = {
        "hostname": "example-host",
        "backend": "cpu",
        "runtime": "torch",
        "launcher": "process",
        "changes": ("torch 2.12.0, now 2.13.0",),
        "cells": 2,
        "example": "cpu-bert-tiny-fp32-b1-s128-inference",
        "since": RECORDED_AT,
        "planned_by": "orchestrator run matrix.yaml",
        "axes": _AXES | (axes or {}),
    }
    return Stale(**values | changes)


def a_cell(mark: str = "ok", reason: str | None = None, **changes: Any) -> VerifiedCell:
    """A cell of bert-micro on the CPU's torch."""
    values = {
        "cell_id": "x",
        "model": "bert-micro",
        "backend": "cpu",
        "runtime": "torch",
        "precision": "fp32",
        "mode": "inference",
        "mark": mark,
        "reason": reason,
        "device": "AMD EPYC",
    }
    return VerifiedCell.model_validate(values | changes)


def a_verification(*cells: VerifiedCell, **changes: Any) -> Verification:
    """What one run found of these cells."""
    values: dict[str, Any] = {
        "verified_on": date(2026, 11, 21),
        "command": "orchestrator verify",
        "version": "0.1.0",
        "git_commit": None,
        "launcher": "process",
        "machine": "AMD EPYC",
        "operating_system": "Debian 12",
        "libraries": {},
        "cells": cells,
    }
    return Verification(**values | changes)
