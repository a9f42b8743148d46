"""How large a model and what it reads are, from its description alone."""

from collections.abc import Mapping
from typing import Any

from runner.cell import Cell
from runner.models import ModelSpec, prompt_length

Config = Mapping[str, Any]

_UNKNOWN_PARAMETERS = 100_000_000
_FRAMES_PER_SECOND = 50
"""Wav2Vec2's and Whisper's encoders have one frame for 20 ms of sound."""
_CONVOLUTION_STRIDE = 32
"""Pixels of an image's side for one place in a convolutional network's last layer."""


def parameters_of(model: ModelSpec) -> float:
    """Published, or guessed from the configuration; 100 million where that tells nothing."""
    return known_parameters(model) or _UNKNOWN_PARAMETERS


def known_parameters(model: ModelSpec) -> float:
    """Published, or those of a transformer of the configured width and depth; 0 if unknown."""
    if model.parameters is not None:
        return model.parameters
    text = text_config(model)
    depth = layers(text)
    return 12.0 * depth * width(text) ** 2 + words(text) * width(text)


def text_config(model: ModelSpec) -> Config:
    """What configures the part that reads or writes text, or the whole model."""
    return _part(model.config, "text_config")


def width(config: Config) -> float:
    """Values in one token's hidden state."""
    return first_number(config, "hidden_size", "n_embd", "d_model")


def layers(config: Config) -> float:
    """Transformer layers; those of the decoder where there are two kinds."""
    names = ("num_decoder_layers", "decoder_layers", "num_hidden_layers", "n_layer", "num_layers")
    return first_number(config, *names)


def words(config: Config) -> float:
    """Tokens of the vocabulary."""
    return first_number(config, "vocab_size")


def tokens_of(cell: Cell, model: ModelSpec) -> float:
    """Tokens of one sample; patches of an image and frames of a sound count too."""
    if model.modality == "text":
        return cell.sequence_length or 1.0
    text = prompt_length(model, cell) if model.image_prompt else cell.sequence_length
    image = 0.0 if model.image_prompt else _patches(cell, model)
    seconds = cell.audio_seconds or model.fixed.get("audio_seconds", 0)
    return (text or 0) + image + seconds * _FRAMES_PER_SECOND or 1.0


def _patches(cell: Cell, model: ModelSpec) -> float:
    vision = _part(model.config, "vision_config")
    sized = cell.image_size or model.fixed.get("image_size") or first_number(vision, "image_size")
    patch = first_number(vision, "patch_size") or _CONVOLUTION_STRIDE
    return (sized / patch) ** 2 * model.fixed.get("frames", 1) if sized else 0.0


def _part(config: Config, name: str) -> Config:
    part = config.get(name)
    return part if isinstance(part, Mapping) else config


def first_number(config: Config, *keys: str) -> float:
    """The first of these keys that has a number above 0; 0 if none has."""
    values = (config[key] for key in keys if type(config.get(key)) in (int, float))
    return next((float(value) for value in values if value > 0), 0.0)
