"""The sizes that a shape may name, for one model at one cell's values."""

from collections.abc import Mapping
from math import prod
from typing import Protocol, get_args

from runner.contract.errors import Unsupported
from runner.contract.models.image_tokens import image_frame, image_sizes
from runner.contract.models.spec import AxisRange, FixedName, ModelSpec, SizeName, TensorSpec
from runner.contract.reasons import Reason, reason


class Sizes(Protocol):
    """The sizes of a cell's query."""

    @property
    def batch_size(self) -> int:
        """Samples in one query."""
        ...

    @property
    def sequence_length(self) -> int | None:
        """Tokens in one sample, beside those of an image."""
        ...

    @property
    def image_size(self) -> int | None:
        """Height and width of an image, pixels."""
        ...

    @property
    def audio_seconds(self) -> int | None:
        """Seconds of sound in one sample."""
        ...


def sizes_of(model: ModelSpec, cell: Sizes) -> dict[str, int]:
    """Every known size; an axis that the cell leaves out has its default."""
    known = {name: _media_size(model, cell, name) for name in get_args(FixedName)}
    known |= {"batch_size": cell.batch_size, "sequence_length": cell.sequence_length}
    sizes = {name: size for name, size in known.items() if size is not None}
    if model.image_prompt is not None:
        side = sizes["image_size"]
        sizes |= image_sizes(model.image_prompt, model.config, (side, side))
        if cell.sequence_length is not None:
            framing = sum(map(len, image_frame(model.config)))
            sizes["prompt_length"] = cell.sequence_length + framing + sizes["image_tokens"]
    return sizes


def shape_of(model: ModelSpec, tensor: TensorSpec, sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The tensor's shape in numbers.

    Raises:
        Unsupported: a size is missing.
    """
    return tuple(
        prod(number_of(model, tensor, factor, sizes) for factor in dimension)
        if isinstance(dimension, tuple)
        else number_of(model, tensor, dimension, sizes)
        for dimension in tensor.shape
    )


def number_of(
    model: ModelSpec, tensor: TensorSpec, size: int | SizeName, sizes: Mapping[str, int]
) -> int:
    """The number that a description means by this size.

    Raises:
        Unsupported: it is missing.
    """
    if isinstance(size, int):
        return size
    if size not in sizes:
        missing = "sequence_length" if size == "prompt_length" else size
        raise Unsupported(
            reason("input_lacks_size", input=tensor.name, model=model.name, axis=missing)
        )
    return sizes[size]


def prompt_length(model: ModelSpec, cell: Sizes) -> int | None:
    """Tokens in one sample, an image's among them; None for models that take no text."""
    if not model.takes_sequence:
        return None
    return sizes_of(model, cell).get("prompt_length", cell.sequence_length)


def refusal(model: str, axis: str, allowed: AxisRange, size: int) -> Reason | None:
    """The rule of a range that the size breaks; None if it breaks none."""
    facts = {"model": model, "axis": axis, "size": size}
    if size < allowed.least:
        return reason("size_too_small", **facts, bound=allowed.least)
    if allowed.most is not None and size > allowed.most:
        return reason("size_too_large", **facts, bound=allowed.most)
    if size % allowed.multiple_of:
        return reason("size_no_multiple", **facts, bound=allowed.multiple_of)
    return None


def _media_size(model: ModelSpec, cell: Sizes, name: FixedName) -> int | None:
    """The size that the model fixes, the cell's, or the default; None if the model takes none."""
    allowed: AxisRange | None = getattr(model, name, None)
    if allowed is None:
        return model.fixed.get(name)
    value: int | None = getattr(cell, name)
    if value is None:
        return allowed.default
    if explanation := refusal(model.name, name, allowed, value):
        raise Unsupported(explanation)
    return value
