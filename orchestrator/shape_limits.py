"""Why a model doesn't take a cell's sizes, whatever executes it."""

from runner.cell import Cell
from runner.models import AxisRange, ModelSpec, prompt_length, refusal


def why_not_shape(cell: Cell, model: ModelSpec) -> str | None:
    """The first of the cell's sizes that the model doesn't take; None if it takes all.

    An image's size comes first, since the prompt's length may follow from it.
    """
    return (
        _out_of_range(cell, "image_size", cell.image_size, model.image_size)
        or _out_of_range(cell, "audio_seconds", cell.audio_seconds, model.audio_seconds)
        or _too_long(cell, model)
        or _too_many(cell, model)
    )


def _out_of_range(cell: Cell, axis: str, size: int | None, allowed: AxisRange | None) -> str | None:
    if size is None or allowed is None:
        return None
    reason = refusal(allowed, size)
    return f"{cell.model} takes {axis} of {reason}, not {size}" if reason else None


def _too_long(cell: Cell, model: ModelSpec) -> str | None:
    """A decoder's new tokens take places behind the prompt; behind an encoder they don't."""
    longest, length = model.max_sequence_length, cell.sequence_length
    if longest is None or length is None:
        return None
    of_images = (prompt_length(model, cell) or length) - length if model.image_prompt else 0
    new = 0 if model.encoder_decoder else cell.new_tokens or 0
    if length + of_images + new <= longest:
        return None
    parts = ((of_images, "of an image"), (new, "new ones"))
    named = [f"{length}", *(f"{count} {what}" for count, what in parts if count)]
    return f"{cell.model} takes at most {longest} tokens, not {' and '.join(named)}"


def _too_many(cell: Cell, model: ModelSpec) -> str | None:
    most, new = model.max_new_tokens, cell.new_tokens
    if most is None or new is None or new <= most:
        return None
    return f"{cell.model} generates at most {most} tokens, not {new}"
