"""Signatures of models that read an image among the tokens of a prompt, by their configuration.

How many tokens an image becomes is arithmetic of `runner.contract.models.sizes`, which reads
the same keys; what it needs is checked here.
"""

import re
from typing import Any

from orchestrator.matrix.signatures import Config, Signature, part_of, whole_number
from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry

_SPECIAL = (
    *("image_token_index", "image_token_id", "video_token_index", "video_token_id"),
    *("vision_start_token_id", "vision_end_token_id"),
)
"""Keys of tokens that stand for something else than text; ids below all of them are text."""
_PIXELS = 448
"""Height and width of the usual image, as near as squares of patches come from below."""
_CHANNELS = 3
_BUDGET = re.compile(r"anyres_max_[1-9]\d{0,2}")


def _grid(config: Config) -> list[Config]:
    """An image as patches of its whole height and width."""
    vision = part_of(config, "vision_config")
    patch, frames = (
        whole_number(vision, name, "inputs") for name in ("patch_size", "temporal_patch_size")
    )
    ids, mask = _words(config)
    numbers = _CHANNELS * frames * patch**2
    return [
        ids,
        mask,
        {"name": "mm_token_type_ids", "kind": "image_mask", "shape": ids["shape"]},
        {
            "name": "pixel_values",
            "kind": "normal",
            "shape": [["batch_size", "image_patches"], numbers],
        },
        {
            "name": "image_grid_thw",
            "kind": "rows",
            "shape": ["batch_size", 3],
            "values": [1, "image_grid", "image_grid"],
        },
    ]


def _grid_sizes(config: Config) -> Config:
    vision = part_of(config, "vision_config")
    square = whole_number(vision, "patch_size", "inputs") * whole_number(
        vision, "spatial_merge_size", "inputs"
    )
    least = 2 * square
    usual = max(_PIXELS // square * square, least)
    sizes = {"default": usual, "least": least, "multiple_of": square}
    return {"image_prompt": "grid", "image_size": sizes, **_longest(config)}


def _crops(config: Config) -> list[Config]:
    """An image as a whole and in crops."""
    side = whole_number(part_of(config, "vision_config"), "image_size", "inputs")
    shape = ["batch_size", "image_crops", _CHANNELS, side, side]
    return [
        *_words(config),
        {"name": "pixel_values", "kind": "normal", "shape": shape},
        {
            "name": "image_sizes",
            "kind": "rows",
            "shape": ["batch_size", 2],
            "values": ["image_size", "image_size"],
        },
    ]


def _crop_sizes(config: Config) -> Config:
    vision = part_of(config, "vision_config")
    side = whole_number(vision, "image_size", "inputs")
    whole_number(vision, "patch_size", "inputs")
    choices, budget = config.get("image_grid_pinpoints"), config.get("vision_aspect_ratio")
    if not isinstance(choices, list) or not choices or not all(_is_area(c, side) for c in choices):
        wanted = f"a list of heights and widths of at least {side}"
        raise _unknown("image_grid_pinpoints", choices, wanted)
    if budget is not None and not (isinstance(budget, str) and _BUDGET.fullmatch(budget)):
        raise _unknown("vision_aspect_ratio", budget, "such as anyres_max_9")
    sizes = {"default": side, "least": min(side, 28)}
    return {"image_prompt": "anyres", "image_size": sizes, **_longest(config)}


def _is_area(value: Any, least: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(side) is int and least <= side < 1 << 20 for side in value)
    )


def _unknown(name: str, value: object, wanted: str) -> SkipEntry:
    return SkipEntry(
        f"is required: the configuration says {quote(value)} for {name}, which is not {wanted}",
        key="inputs",
    )


def _words(config: Config) -> tuple[Config, Config]:
    """The prompt's tokens around those of its image, and the mask that shows all of them."""
    shape = ["batch_size", "prompt_length"]
    ids = {"name": "input_ids", "kind": "prompt_ids", "shape": shape, "high": _text_tokens(config)}
    return ids, {"name": "attention_mask", "kind": "ones", "shape": shape}


def _word_labels(config: Config) -> Config:
    shape = ["batch_size", "prompt_length"]
    high = _text_tokens(config)
    return {"name": "labels", "kind": "prompt_labels", "shape": shape, "high": high}


def _text_tokens(config: Config) -> int:
    """The number of tokens that are text: those below every one that stands for something else."""
    named = [name for name in _SPECIAL if config.get(name) is not None]
    if not {"image_token_index", "image_token_id"}.intersection(named):
        named.append("image_token_id")
    if "vision_start_token_id" in named:
        named.append("vision_end_token_id")
    special = [whole_number(config, name, "inputs") for name in named]
    return min(whole_number(_text(config), "vocab_size", "inputs"), *special)


def _longest(config: Config) -> Config:
    key = "max_sequence_length"
    return {key: whole_number(_text(config), "max_position_embeddings", key)}


def _text(config: Config) -> Config:
    """The part that reads text; older configurations have its keys among all others."""
    return part_of(config, "text_config") or config


_LABELS = {"AutoModelForImageTextToText": _word_labels}
PATCHES = Signature(_grid, _LABELS, _grid_sizes)
"""Qwen-VL."""
CROPS = Signature(_crops, _LABELS, _crop_sizes)
"""LLaVA-NeXT and LLaVA-OneVision."""
