"""Tokens that an image becomes in a prompt, by the arithmetic of the models themselves."""

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

from runner.contract.models.spec import ImagePrompt

_Config = Mapping[str, Any]
Area = tuple[int, int]
"""Height and width."""

_TOLERATED = 1.1
"""LLaVA-OneVision shrinks an image only if its sides are longer than this much of the budget."""


def image_sizes(kind: ImagePrompt, config: _Config, image: Area) -> dict[str, int]:
    """Sizes that follow from the image's height and width, in pixels."""
    return _SIZES[kind](config, image)


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
    """A padded image's patches without the padding."""
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


_SIZES: Mapping[ImagePrompt, Callable[[_Config, Area], dict[str, int]]] = {
    "anyres": _anyres,
    "grid": _grid,
}
