"""The tensors that models take in a query and in training, as their configuration has them.

Tokens of an image in a prompt are arithmetic of `runner.contract.models.sizes`.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from orchestrator.system.problems import quote
from runner.contract.errors import SkipEntry
from runner.contract.models.catalogue import LARGEST_SIZE

Config = dict[str, Any]

_DECODER_TOKENS = 8
"""Tokens at a decoder behind an encoder, as in the catalogue."""
_FRAMES_PER_SECOND = 100
"""Frames of a spectrogram; Whisper's encoder halves them."""
_SAMPLES_PER_SECOND = 16_000
_SPECIAL = (
    *("image_token_index", "image_token_id", "video_token_index", "video_token_id"),
    *("vision_start_token_id", "vision_end_token_id"),
)
"""Keys of tokens that stand for something else than text; ids below all of them are text."""
_PIXELS = 448
"""Height and width of a prompt's usual image, as near as squares of patches come from below."""
_CHANNELS = 3
_BUDGET = re.compile(r"anyres_max_[1-9]\d{0,2}")
_WRITERS = (
    *("AutoModelForCausalLM", "AutoModelForSeq2SeqLM"),
    *("AutoModelForSpeechSeq2Seq", "AutoModelForImageTextToText"),
)


@dataclass(frozen=True)
class Signature:
    """The tensors that models of one kind take, each given the configuration."""

    inputs: Callable[[Config], list[Config]]
    labels: Mapping[str, Callable[[Config], Config]]
    """The tensor that training compares the outputs with, by the class that learns from it."""
    sizes: Callable[[Config], Config] = field(default=lambda _: {})


def forward_of(architecture: str) -> dict[str, bool]:
    """Constant arguments of the forward pass: a class that writes tokens keeps no cache in it."""
    return {"use_cache": False} if architecture in _WRITERS else {}


def part_of(config: Config, name: str) -> Config:
    """The configuration of a part, such as `text_config`; empty where there is none."""
    part = config.get(name)
    return part if isinstance(part, dict) else {}


def whole_number(config: Config, name: str, key: str, *, least: int = 1) -> int:
    """A size that the configuration gives for a key of the model's description."""
    value = config.get(name)
    if value is None:
        raise SkipEntry(f"is required: the configuration has no {name}", key=key)
    if type(value) is not int or not least <= value <= LARGEST_SIZE:
        wanted = f"a whole number from {least} to {LARGEST_SIZE:,}"
        raise _invalid(name, value, wanted, key)
    return value


def _invalid(name: str, value: object, wanted: str, key: str = "inputs") -> SkipEntry:
    return SkipEntry(
        f"is required: the configuration says {quote(value)} for {name}, which is not {wanted}",
        key=key,
    )


def _tensor(name: str, kind: str, *sizes: Any, **values: Any) -> Config:
    """A tensor of one of these sizes for each sample of the batch."""
    return {"name": name, "kind": kind, "shape": ["batch_size", *sizes], **values}


def _text(config: Config) -> list[Config]:
    words = whole_number(config, "vocab_size", "inputs")
    ids = _tensor("input_ids", "token_ids", "sequence_length", high=words)
    return [ids, _tensor("attention_mask", "ones", "sequence_length")]


def _tokens(config: Config, name: str, key: str, length: int | str) -> Config:
    return _tensor(name, "token_ids", length, high=whole_number(config, "vocab_size", key))


def _decoder_ids(config: Config) -> Config:
    return _tokens(config, "decoder_input_ids", "inputs", _DECODER_TOKENS)


def _word_labels(config: Config) -> Config:
    return _tokens(config, "labels", "labels", "sequence_length")


def _written_labels(config: Config) -> Config:
    return _tokens(config, "labels", "labels", _DECODER_TOKENS)


def _image(config: Config) -> list[Config]:
    channels = whole_number(config, "num_channels", "inputs")
    sides = config.get("image_size")  # where one number is given, it is both
    pair = sides if isinstance(sides, list) and len(sides) == 2 else [sides, sides]
    height, width = (whole_number({"image_size": side}, "image_size", "inputs") for side in pair)
    return [_tensor("pixel_values", "normal", channels, height, width)]


def _any_image(config: Config) -> list[Config]:
    channels = whole_number(config, "num_channels", "inputs")
    return [_tensor("pixel_values", "normal", channels, "image_size", "image_size")]


def _boxes(config: Config) -> Config:
    """Three objects in each image."""
    return _tensor("labels", "boxes", 3, high=_classes(config))


def _class_labels(config: Config) -> Config:
    return _tensor("labels", "token_ids", high=_classes(config))


def _classes(config: Config) -> int:
    """The number of classes: as given, by their names, or transformers' default."""
    names = config.get("id2label") or [0, 1]
    if not isinstance(names, dict | list):
        raise _invalid("id2label", names, "a table of names", "labels")
    return whole_number({"num_labels": len(names), **config}, "num_labels", "labels")


def _pair(config: Config) -> list[Config]:
    """A text that ends in the token at which the model looks, and an image."""
    text = part_of(config, "text_config")
    words, pixels = _text(text), _image(part_of(config, "vision_config"))
    ids, last = words[0], text.get("eos_token_id")
    if type(last) is int and 1 < last <= ids["high"]:
        ids |= {"low": 1, "high": last, "last": last}
    return [*words, *pixels]


def _pair_sizes(config: Config) -> Config:
    text, vision = part_of(config, "text_config"), part_of(config, "vision_config")
    longest = whole_number(text, "max_position_embeddings", "max_sequence_length")
    side = whole_number(vision, "image_size", "inputs")
    return {"max_sequence_length": longest, "fixed": {"image_size": side}, "contrastive": True}


def _spectrogram(config: Config) -> list[Config]:
    bands = whole_number(config, "num_mel_bins", "inputs")
    frames = 2 * whole_number(config, "max_source_positions", "inputs")
    return [_tensor("input_features", "normal", bands, frames), _decoder_ids(config)]


def _spectrogram_sizes(config: Config) -> Config:
    """The one length of a sound, and the places for tokens behind the first."""
    frames = 2 * whole_number(config, "max_source_positions", "inputs", least=50)
    places = whole_number(config, "max_target_positions", "inputs", least=2)
    return {"fixed": {"audio_seconds": frames // _FRAMES_PER_SECOND}, "max_new_tokens": places - 1}


def _prompt(config: Config) -> list[Config]:
    """The tokens of a prompt around those of its image, and the mask that shows all of them."""
    ids = _tensor("input_ids", "prompt_ids", "prompt_length", high=_text_tokens(config))
    return [ids, _tensor("attention_mask", "ones", "prompt_length")]


def _text_tokens(config: Config) -> int:
    """The number of tokens that are text: those below every one that stands for something else."""
    named = [name for name in _SPECIAL if config.get(name) is not None]
    if not {"image_token_index", "image_token_id"}.intersection(named):
        named.append("image_token_id")
    if "vision_start_token_id" in named:
        named.append("vision_end_token_id")
    special = [whole_number(config, name, "inputs") for name in named]
    return min(whole_number(_text_part(config), "vocab_size", "inputs"), *special)


def _text_part(config: Config) -> Config:
    """The part that reads text; older configurations have its keys among all others."""
    return part_of(config, "text_config") or config


def _prompt_sizes(config: Config, kind: str, sizes: Config) -> Config:
    key = "max_sequence_length"
    longest = whole_number(_text_part(config), "max_position_embeddings", key)
    return {"image_prompt": kind, "image_size": sizes, key: longest}


def _patches(config: Config) -> list[Config]:
    """An image in a prompt, as patches of its whole height and width."""
    vision = part_of(config, "vision_config")
    patch, frames = (
        whole_number(vision, name, "inputs") for name in ("patch_size", "temporal_patch_size")
    )
    shape = [["batch_size", "image_patches"], _CHANNELS * frames * patch**2]
    return [
        *_prompt(config),
        _tensor("mm_token_type_ids", "image_mask", "prompt_length"),
        {"name": "pixel_values", "kind": "normal", "shape": shape},
        _tensor("image_grid_thw", "rows", 3, values=[1, "image_grid", "image_grid"]),
    ]


def _patch_sizes(config: Config) -> Config:
    vision = part_of(config, "vision_config")
    patch, merged = (
        whole_number(vision, name, "inputs") for name in ("patch_size", "spatial_merge_size")
    )
    square = patch * merged
    least = 2 * square
    usual = max(_PIXELS // square * square, least)
    sizes = {"default": usual, "least": least, "multiple_of": square}
    return _prompt_sizes(config, "grid", sizes)


def _crops(config: Config) -> list[Config]:
    """An image in a prompt, as a whole and in crops."""
    side = whole_number(part_of(config, "vision_config"), "image_size", "inputs")
    return [
        *_prompt(config),
        _tensor("pixel_values", "normal", "image_crops", _CHANNELS, side, side),
        _tensor("image_sizes", "rows", 2, values=["image_size", "image_size"]),
    ]


def _crop_sizes(config: Config) -> Config:
    vision = part_of(config, "vision_config")
    side = whole_number(vision, "image_size", "inputs")
    whole_number(vision, "patch_size", "inputs")
    choices, budget = config.get("image_grid_pinpoints"), config.get("vision_aspect_ratio")
    if not isinstance(choices, list) or not choices or not all(_is_area(c, side) for c in choices):
        wanted = f"a list of heights and widths of at least {side}"
        raise _invalid("image_grid_pinpoints", choices, wanted)
    if budget is not None and not (isinstance(budget, str) and _BUDGET.fullmatch(budget)):
        raise _invalid("vision_aspect_ratio", budget, "such as anyres_max_9")
    return _prompt_sizes(config, "anyres", {"default": side, "least": min(side, 28)})


def _is_area(value: Any, least: int) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(type(side) is int and least <= side < 1 << 20 for side in value)
    )


TEXT = Signature(
    _text, {"AutoModelForMaskedLM": _word_labels, "AutoModelForCausalLM": _word_labels}
)
TWO_TEXTS = Signature(
    lambda config: [*_text(config), _decoder_ids(config)],
    {"AutoModelForSeq2SeqLM": _written_labels},
)
IMAGE = Signature(_image, {"AutoModelForImageClassification": _class_labels})
ANY_IMAGE = Signature(
    _any_image,
    {"AutoModelForImageClassification": _class_labels},
    lambda _: {"image_size": {"default": 224, "least": 32, "multiple_of": 32}},
)
"""Convolutional networks, which take images of any size."""
MASKED_IMAGE = Signature(
    lambda config: [*_any_image(config), _tensor("pixel_mask", "ones", "image_size", "image_size")],
    {"AutoModelForObjectDetection": _boxes},
    lambda _: {"image_size": {"default": 800, "least": 64, "multiple_of": 32}},
)
"""Detectors that are told which part of an image is padding, as DETR is."""
PAIR = Signature(_pair, {}, _pair_sizes)
"""Text and image in one space, as CLIP and SigLIP have them."""
SPECTROGRAM = Signature(
    _spectrogram, {"AutoModelForSpeechSeq2Seq": _written_labels}, _spectrogram_sizes
)
WAVE = Signature(
    lambda _: [_tensor("input_values", "normal", [_SAMPLES_PER_SECOND, "audio_seconds"])],
    {
        # Letters without the first, which stands for none.
        "AutoModelForCTC": lambda config: _written_labels(config) | {"low": 1},
        "AutoModelForAudioClassification": _class_labels,
    },
    lambda _: {"audio_seconds": {"default": 5}},
)
_LABELS: Mapping[str, Callable[[Config], Config]] = {
    "AutoModelForImageTextToText": lambda config: _tensor(
        "labels", "prompt_labels", "prompt_length", high=_text_tokens(config)
    )
}
PATCHES = Signature(_patches, _LABELS, _patch_sizes)
"""Qwen-VL."""
CROPS = Signature(_crops, _LABELS, _crop_sizes)
"""LLaVA-NeXT and LLaVA-OneVision."""
