"""The shapes for which a graph is made, and those at which it is checked."""

from runner.cell import Cell, Job
from runner.fixed_input import fixed_cell
from runner.graph import fixed_shape
from runner.models import AxisRange, ModelSpec

FEWER_TOKENS = 5
"""By how many tokens the other length is shorter: odd, so that no size divides by two."""


def shapes_of(job: Job) -> dict[str, Cell]:
    """A cell for every shape that sessions of this job execute, the verification's first."""
    return {fixed_shape(cell): cell for cell in (fixed_cell(job), *job.cells)}


def elsewhere(model: ModelSpec, cell: Cell) -> Cell:
    """A cell with another value on every axis that the model has."""
    length = cell.sequence_length
    return cell.model_copy(
        update={
            "batch_size": cell.batch_size + 1,
            "sequence_length": None if length is None else _other_length(length),
            "image_size": _other(model.image_size, cell.image_size),
            "audio_seconds": _other(model.audio_seconds, cell.audio_seconds),
        }
    )


def _other_length(length: int) -> int:
    return length - FEWER_TOKENS if length > FEWER_TOKENS else length + 1


def _other(allowed: AxisRange | None, value: int | None) -> int | None:
    """The value below, or the one above where there is none; the same where the range ends."""
    if allowed is None:
        return value
    value, step = value or allowed.default, allowed.multiple_of
    if value - step >= allowed.least:
        return value - step
    return value if allowed.most is not None and value + step > allowed.most else value + step
