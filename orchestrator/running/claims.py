"""Claims of a record about what the host knows better: its job, its image, its machine's id."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel

from orchestrator.store.merge.expected import fault_of_claim
from runner.contract.cell import Cell
from runner.contract.job import Job
from runner.contract.models import ModelSpec
from runner.contract.record.ids import SHARED_FACTS, false_id
from runner.contract.record.record import Record, known_columns

_TEXTS = {"job", "model_spec", "model_id"}
"""Columns that are compared by what they say, since versions may say it in other words."""
_Model = TypeVar("_Model", bound=BaseModel)


def false_claim(record: Record, cell: Cell, jobs: Sequence[Job]) -> str | None:
    """The first thing that a record says and that is not so; None if there is none.

    Args:
        record: a record of this cell, by its ids and axes.
        cell: the cell as it was planned.
        jobs: what may have made it; the record must agree with one of them. Without any, its ids
            alone are looked at.
    """
    faults = [next(_contradictions(record, cell, job), None) for job in jobs]
    if faults and None not in faults:
        return faults[0]
    return false_id(record.model_dump(mode="json", include=set(SHARED_FACTS)))


def _contradictions(record: Record, cell: Cell, job: Job) -> Iterator[str]:
    for name, value in known_columns(job, cell).items():
        claim = getattr(record, name)
        if name not in _TEXTS and claim != value and not _is_found_out(name, cell, value):
            yield fault_of_claim(name, claim, value)
    if _parsed(ModelSpec, record.model_spec) not in (None, job.model):
        yield "is not the record that was asked for: its model_spec is that of another model"
    on_device = job.on_hardware(record.hardware_id)
    known = (None, job.of_cell(cell), on_device.of_cell(cell))
    if _parsed(Job, record.job, {"model": job.model}) not in known:
        yield "is not the record that was asked for: its job, which a replay repeats, is another"


def _is_found_out(name: str, cell: Cell, value: object) -> bool:
    """True for what the runner finds out: batch size, threads, the commit of a hub's weights."""
    if name == "batch_size":
        return cell.scenario == "offline"
    return name in ("weights_revision", "threads") and value is None


def _parsed(
    model: type[_Model], text: str | None, more: Mapping[str, Any] | None = None
) -> _Model | None:
    """The value of a JSON object; None if this version does not know such values."""
    try:
        return model.model_validate({**json.loads(text or ""), **(more or {})})
    except (ValueError, TypeError, RecursionError):
        return None
