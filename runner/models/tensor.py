"""Describes one tensor of a query: what it holds, and its shape in terms of a cell's sizes."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, PositiveInt

FixedName = Literal["image_size", "audio_seconds", "frames"]
AxisName = Literal["batch_size", "sequence_length", "image_size", "audio_seconds", "frames"]
ImageSize = Literal["prompt_length", "image_tokens", "image_crops", "image_patches", "image_grid"]
"""What follows from the size of an image in a prompt, see `runner.models.images`."""
SizeName = AxisName | ImageSize
TensorKind = Literal[
    "token_ids",
    "prompt_ids",
    "prompt_labels",
    "image_mask",
    "rows",
    "boxes",
    "ones",
    "false",
    "normal",
]


class TensorSpec(BaseModel):
    """One input tensor, synthesised from this description and a seed."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """The argument's name in the model's forward pass."""
    kind: TensorKind
    """`token_ids`: int64 drawn from [low, high); `prompt_ids`: the same around the tokens of an
    image; `prompt_labels`: the same, -100 where the image is; `image_mask`: int32, 1 where the
    image is; `rows`: int64, each row the `values`; `boxes`: float32, each row a class drawn from
    [low, high) and centre, width and height within 0 and 1; `ones`: int64 ones; `false`: bool;
    `normal`: float32 N(0, 1)."""
    shape: tuple[PositiveInt | SizeName | tuple[PositiveInt | SizeName, ...], ...]
    """Sizes; a name stands for the cell's value of that axis, a list for the product of its
    members, such as `[16000, "audio_seconds"]`."""
    low: int = 0
    """Lowest token id, or class."""
    high: PositiveInt | None = None
    """One past the highest token id, or class; required where some are drawn."""
    last: int | None = None
    """Token id at the end of each row of `token_ids`; null leaves it as drawn."""
    values: tuple[PositiveInt | SizeName, ...] = ()
    """What each row holds; required for `rows`."""

    @property
    def sizes(self) -> frozenset[SizeName]:
        """The names of the sizes that its shape depends on."""
        names = (
            name
            for dimension in self.shape
            for name in (dimension if isinstance(dimension, tuple) else (dimension,))
        )
        return frozenset(name for name in names if isinstance(name, str))
