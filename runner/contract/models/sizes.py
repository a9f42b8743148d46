"""The sizes that a shape may name, for one model at one cell's values.

Tokens that an image becomes in a prompt follow from the arithmetic of the models themselves.
"""

from collections.abc import Mapping, Sequence
from math import prod, sqrt
from typing import Any, Protocol, get_args

from runner.contract.errors import Unsupported
from runner.contract.models.catalogue import (
    AxisRange,
    FixedName,
    ImagePrompt,
    ModelSpec,
    SizeName,
    TensorSpec,
)
from runner.contract.reasons import Reason, reason

_Config = Mapping[str, Any]
Area = tuple[int, int]  # height and width

_TOLERATED = 1.1
"""LLaVA-OneVision shrinks an image only if its sides are longer than this much of the budget."""


def image_sizes(kind: ImagePrompt, config: _Config, image: Area) -> dict[str, int]:
    return _anyres(config, image) if kind == "anyres" else _grid(config, image)


def image_token(config: _Config) -> int:
    """The token id that stands for a piece of an image."""
    token: int = config["image_token_index" if "image_token_index" in config else "image_token_id"]
    return token


def image_frame(config: _Config) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The token ids right before and right behind those of an image."""
    if "vision_start_token_id" not in config:
        return (), ()
    return (config["vision_start_token_id"],), (config["vision_end_token_id"],)


def anyres_resolution(image: Area, choices: Sequence[Sequence[int]]) -> Area:
    """The choice that keeps most of the image's pixels, and of those the one with fewest others."""
    height, width = image

    def merit(choice: Sequence[int]) -> tuple[int, int]:
        scale = min(choice[1] / width, choice[0] / height)
        kept = min(int(width * scale) * int(height * scale), height * width)
        return kept, kept - choice[0] * choice[1]

    best = max(choices, key=merit)
    return best[0], best[1]


def _anyres(config: _Config, image: Area) -> dict[str, int]:
    """The whole image as one crop, and a grid of crops at a higher resolution (LLaVA 1.6)."""
    vision = config["vision_config"]
    side, patches = vision["image_size"], vision["image_size"] // vision["patch_size"]
    height, width = anyres_resolution(image, config["image_grid_pinpoints"])
    rows, columns = height // side, width // side
    kept = _unpadded((rows * patches, columns * patches), image)
    kept = _within_budget(kept, patches, config.get("vision_aspect_ratio"))
    return {"image_crops": rows * columns + 1, "image_tokens": patches**2 + kept[0] * (kept[1] + 1)}


def _unpadded(padded: Area, image: Area) -> Area:
    if image[1] / image[0] > padded[1] / padded[0]:
        height = int(round(image[0] * (padded[1] / image[1]), 7))
        return padded[0] - 2 * ((padded[0] - height) // 2), padded[1]
    width = int(round(image[1] * (padded[0] / image[0]), 7))
    return padded[0], padded[1] - 2 * ((padded[1] - width) // 2)


def _within_budget(patches: Area, side: int, aspect_ratio: str | None) -> Area:
    """Shrunk to about as many crops as `anyres_max_9` allows."""
    if aspect_ratio is None:
        return patches
    crops = int(aspect_ratio.removeprefix("anyres_max_"))
    ratio = sqrt(patches[0] * patches[1] / (crops * side**2))
    if ratio <= _TOLERATED:
        return patches
    return int(patches[0] // ratio), int(patches[1] // ratio)


def _grid(config: _Config, image: Area) -> dict[str, int]:
    """Patches over the whole image, merged in squares (Qwen-VL)."""
    vision = config["vision_config"]
    rows, columns = (side // vision["patch_size"] for side in image)
    return {
        "image_grid": rows,
        "image_patches": rows * columns,
        "image_tokens": rows * columns // vision["spatial_merge_size"] ** 2,
    }


class Sizes(Protocol):
    """The sizes of a cell's query."""

    @property
    def batch_size(self) -> int: ...

    @property
    def sequence_length(self) -> int | None: ...

    @property
    def image_size(self) -> int | None: ...

    @property
    def audio_seconds(self) -> int | None: ...


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
    return tuple(
        prod(number_of(model, tensor, factor, sizes) for factor in factors)
        for factors in tensor.dimensions
    )


def number_of(
    model: ModelSpec, tensor: TensorSpec, size: int | SizeName, sizes: Mapping[str, int]
) -> int:
    """The number that a description means by this size."""
    if isinstance(size, int):
        return size
    if size not in sizes:
        facts = {"axis": "sequence_length" if size == "prompt_length" else size}
        raise Unsupported(reason("input_lacks_size", input=tensor.name, model=model.name, **facts))
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
