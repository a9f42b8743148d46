"""Signatures of models: the tensors of one query and of training, as their configuration has them.

They are those of the catalogue's models, with the sizes of the configuration at hand.
"""

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


@dataclass(frozen=True)
class Signature:
    """The tensors that models of one kind take, each given the configuration."""

    inputs: Callable[[Config], list[Config]]
    """The tensors of one query."""
    labels: Mapping[str, Callable[[Config], Config]]
    """The tensor that training compares the outputs with, by the class that learns from it."""
    sizes: Callable[[Config], Config] = field(default=lambda _: {})
    """Fields of the description that say which sizes the model takes."""


def forward_of(architecture: str) -> dict[str, bool]:
    """Constant arguments of the forward pass: a class that writes tokens keeps no cache in it."""
    return {"use_cache": False} if architecture in _WRITERS else {}


def part_of(config: Config, name: str) -> Config:
    """The configuration of a part, such as `text_config`; empty where there is none."""
    part = config.get(name)
    return part if isinstance(part, dict) else {}


def whole_number(config: Config, name: str, key: str, *, least: int = 1) -> int:
    """A size that the configuration gives."""
    value = config.get(name)
    if value is None:
        raise SkipEntry(f"is required: the configuration has no {name}", key=key)
    if type(value) is not int or not least <= value <= LARGEST_SIZE:
        raise SkipEntry(
            f"is required: the configuration says {quote(value)} for {name}, "
            f"which is not a whole number from {least} to {LARGEST_SIZE:,}",
            key=key,
        )
    return value


def _text(config: Config) -> list[Config]:
    shape, words = ["batch_size", "sequence_length"], whole_number(config, "vocab_size", "inputs")
    return [
        {"name": "input_ids", "kind": "token_ids", "shape": shape, "high": words},
        {"name": "attention_mask", "kind": "ones", "shape": shape},
    ]


def _word_labels(config: Config) -> Config:
    return _tokens(config, "labels", "labels", "sequence_length")


def _two_texts(config: Config) -> list[Config]:
    return [*_text(config), _tokens(config, "decoder_input_ids", "inputs", _DECODER_TOKENS)]


def _written_labels(config: Config) -> Config:
    return _tokens(config, "labels", "labels", _DECODER_TOKENS)


def _tokens(config: Config, name: str, key: str, length: int | str) -> Config:
    words = whole_number(config, "vocab_size", key)
    return {"name": name, "kind": "token_ids", "shape": ["batch_size", length], "high": words}


def _image(config: Config) -> list[Config]:
    channels = whole_number(config, "num_channels", "inputs")
    shape = ["batch_size", channels, *_sides(config)]
    return [{"name": "pixel_values", "kind": "normal", "shape": shape}]


def _sides(config: Config) -> tuple[int, int]:
    """Height and width; where one number is given, it is both."""
    sides = config.get("image_size")
    if isinstance(sides, list) and len(sides) == 2:
        height, width = ({"image_size": side} for side in sides)
    else:
        height = width = config
    return whole_number(height, "image_size", "inputs"), whole_number(width, "image_size", "inputs")


def _any_image(config: Config) -> list[Config]:
    shape = ["batch_size", whole_number(config, "num_channels", "inputs")]
    return [{"name": "pixel_values", "kind": "normal", "shape": [*shape, *["image_size"] * 2]}]


def _masked_image(config: Config) -> list[Config]:
    """An image of any size, and the part of it that is no padding: all."""
    mask = {"name": "pixel_mask", "kind": "ones", "shape": ["batch_size", *["image_size"] * 2]}
    return [*_any_image(config), mask]


def _boxes(config: Config) -> Config:
    """Three objects in each image."""
    classes = whole_number(_classes(config) | config, "num_labels", "labels")
    return {"name": "labels", "kind": "boxes", "shape": ["batch_size", 3], "high": classes}


def _pair(config: Config) -> list[Config]:
    """A text that ends in the token at which the model looks, and an image."""
    words, pixels = _text(part_of(config, "text_config")), _image(part_of(config, "vision_config"))
    ids, last = words[0], part_of(config, "text_config").get("eos_token_id")
    if type(last) is int and 1 < last <= ids["high"]:
        ids |= {"low": 1, "high": last, "last": last}
    return [*words, *pixels]


def _pair_sizes(config: Config) -> Config:
    text, vision = part_of(config, "text_config"), part_of(config, "vision_config")
    longest = whole_number(text, "max_position_embeddings", "max_sequence_length")
    side = whole_number(vision, "image_size", "inputs")
    return {"max_sequence_length": longest, "fixed": {"image_size": side}, "contrastive": True}


def _class_labels(config: Config) -> Config:
    classes = whole_number(_classes(config) | config, "num_labels", "labels")
    return {"name": "labels", "kind": "token_ids", "shape": ["batch_size"], "high": classes}


def _classes(config: Config) -> Config:
    """The number of classes, by their names or transformers' default."""
    names = config.get("id2label") or [0, 1]
    if not isinstance(names, dict | list):
        raise SkipEntry(
            f"is required: the configuration says {quote(names)} for id2label, "
            "which is not a table of names",
            key="labels",
        )
    return {"num_labels": len(names)}


def _spectrogram(config: Config) -> list[Config]:
    bands = whole_number(config, "num_mel_bins", "inputs")
    frames = 2 * whole_number(config, "max_source_positions", "inputs")
    sound = {"name": "input_features", "kind": "normal", "shape": ["batch_size", bands, frames]}
    return [sound, _tokens(config, "decoder_input_ids", "inputs", _DECODER_TOKENS)]


def _spectrogram_sizes(config: Config) -> Config:
    """The one length of a sound, and the places for tokens behind the first."""
    frames = 2 * whole_number(config, "max_source_positions", "inputs", least=50)
    places = whole_number(config, "max_target_positions", "inputs", least=2)
    return {"fixed": {"audio_seconds": frames // _FRAMES_PER_SECOND}, "max_new_tokens": places - 1}


def _wave(_: Config) -> list[Config]:
    shape = ["batch_size", [_SAMPLES_PER_SECOND, "audio_seconds"]]
    return [{"name": "input_values", "kind": "normal", "shape": shape}]


def _letter_labels(config: Config) -> Config:
    """Letters without the first, which stands for none."""
    return _tokens(config, "labels", "labels", _DECODER_TOKENS) | {"low": 1}


TEXT = Signature(
    _text, {"AutoModelForMaskedLM": _word_labels, "AutoModelForCausalLM": _word_labels}
)
TWO_TEXTS = Signature(_two_texts, {"AutoModelForSeq2SeqLM": _written_labels})
IMAGE = Signature(_image, {"AutoModelForImageClassification": _class_labels})
ANY_IMAGE = Signature(
    _any_image,
    {"AutoModelForImageClassification": _class_labels},
    lambda _: {"image_size": {"default": 224, "least": 32, "multiple_of": 32}},
)
"""Convolutional networks, which take images of any size."""
MASKED_IMAGE = Signature(
    _masked_image,
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
    _wave,
    {"AutoModelForCTC": _letter_labels, "AutoModelForAudioClassification": _class_labels},
    lambda _: {"audio_seconds": {"default": 5}},
)
_WRITERS = (
    "AutoModelForCausalLM",
    "AutoModelForSeq2SeqLM",
    "AutoModelForSpeechSeq2Seq",
    "AutoModelForImageTextToText",
)
