"""The least host memory that a cell can do with, so that what is hopeless is not even started.

    100 MB        the interpreter and the runtime's libraries
  + parameters  × bytes of each while the model is in memory, see `VALUE_BYTES`; in mode `training`
                  four times, for the gradient and AdamW's two moments, in fp32 unless pure; in
                  `generation` on `webnn` for each new token, whose session holds them
  + cache         mode `generation`: a key and a value of each token in each of the decoder's layers
  + activations   what lies in memory at once: one layer's input and its widest inner values, or
                  the scores of all words for all tokens; in training every layer's, and the scores'
                  gradient beside the scores

The sum is less than what processes were measured to use (docs/matrix.md has the table), so a cell
that fits is not refused; one that is not refused may still run out.
"""

from collections.abc import Mapping
from typing import Any

from orchestrator.backends.catalogue import CATALOGUE
from runner.contract.axes import Precision
from runner.contract.cell import Cell
from runner.contract.job import Limits
from runner.contract.models import ModelSpec, prompt_length
from runner.contract.models.catalogue import LARGEST_SIZE
from runner.contract.reasons import Reason, reason

_Config = Mapping[str, Any]

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
    return 12.0 * depth * width(text) ** 2 + first_number(text, "vocab_size") * width(text)


def text_config(model: ModelSpec) -> _Config:
    return _part(model.config, "text_config")


def width(config: _Config) -> float:
    return first_number(config, "hidden_size", "n_embd", "d_model")


def layers(config: _Config) -> float:
    names = ("num_decoder_layers", "decoder_layers", "num_hidden_layers", "n_layer", "num_layers")
    return first_number(config, *names)


def tokens_of(cell: Cell, model: ModelSpec) -> float:
    """Tokens of one sample; patches of an image and frames of a sound count too."""
    if model.modality == "text":
        return cell.sequence_length or 1.0
    text = prompt_length(model, cell) if model.image_prompt else cell.sequence_length
    image = 0.0
    if not model.image_prompt:
        vision = _part(model.config, "vision_config")
        named = cell.image_size or model.fixed.get("image_size")
        side = named or first_number(vision, "image_size")
        patch = first_number(vision, "patch_size") or _CONVOLUTION_STRIDE
        image = (side / patch) ** 2 * model.fixed.get("frames", 1)
    seconds = cell.audio_seconds or model.fixed.get("audio_seconds", 0)
    return (text or 0) + image + seconds * _FRAMES_PER_SECOND or 1.0


def _part(config: _Config, name: str) -> _Config:
    part = config.get(name)
    return part if isinstance(part, Mapping) else config


def first_number(config: _Config, *keys: str) -> float:
    """The first of these keys that has a number above 0 and of a size there can be; else 0."""
    values = (config[key] for key in keys if type(config.get(key)) in (int, float))
    return next((float(value) for value in values if 0 < value <= LARGEST_SIZE), 0.0)


_RUNTIME_BYTES = 100e6
VALUE_BYTES: Mapping[Precision, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1}
_TORCH = ("torch", "torch_compile")
_TRAINED = 4
"""A parameter, its gradient and two moments, all in the same precision."""
_SCORES_FOR_ALL_TOKENS = ("AutoModelForCausalLM", "AutoModelForMaskedLM")


def shortage(
    cell: Cell, model: ModelSpec, limits: Limits, machine_bytes: int | None
) -> Reason | None:
    """The host memory that the cell lacks; None if it may fit, or nobody knows."""
    allowed = limits.memory_bytes or machine_bytes
    if allowed is None or not CATALOGUE[cell.backend].host_memory:
        return None
    need = memory_need_bytes(cell, model)
    if need <= allowed:
        return None
    return reason("memory_short", needed_bytes=need, allowed_bytes=allowed)


WASM_BYTES = 4 << 30
"""All that a 32-bit WebAssembly memory can hold, into which ONNX Runtime Web loads weights for
every provider (onnxruntime.ai/docs/tutorials/web/large-models.html)."""


def beyond_wasm(cell: Cell, model: ModelSpec) -> Reason | None:
    if cell.runtime != "onnxruntime_web":
        return None
    need = known_parameters(model) * VALUE_BYTES[cell.precision]
    if cell.backend == "wasm":  # which has everything else there as well
        need += _cache(cell, model) + _activations(cell, model)
    if need <= WASM_BYTES:
        return None
    return reason("wasm_memory_short", needed_bytes=need, allowed_bytes=WASM_BYTES)


def memory_need_bytes(cell: Cell, model: ModelSpec) -> float:
    copies = 1
    if cell.mode == "training":
        copies = _TRAINED
    elif cell.mode == "generation" and cell.backend == "webnn" and not model.encoder_decoder:
        copies = cell.new_tokens or 1  # WebNN has a session for each length of a decoder's cache
    weights = known_parameters(model) * _bytes_loaded(cell) * copies
    return _RUNTIME_BYTES + weights + _cache(cell, model) + _activations(cell, model)


def _bytes_loaded(cell: Cell) -> int:
    """Bytes of a parameter: int8, graphs and training that is not pure begin with fp32."""
    exported = cell.runtime not in _TORCH
    if cell.mode == "training" and not cell.pure:
        return VALUE_BYTES["fp32"]
    return VALUE_BYTES["fp32" if exported or cell.precision == "int8" else cell.precision]


def _cache(cell: Cell, model: ModelSpec) -> float:
    """Keys and values; behind an encoder those of the new tokens alone are counted."""
    if cell.mode != "generation":
        return 0.0
    config = text_config(model)
    prompt = 0 if model.encoder_decoder else tokens_of(cell, model)
    tokens = prompt + (cell.new_tokens or 0)
    window = first_number(config, "sliding_window") or tokens
    heads = first_number(config, "num_attention_heads", "n_head", "num_heads")
    key_width = 0.0
    if heads:
        of_each = first_number(config, "head_dim", "d_kv") or width(config) / heads
        key_width = of_each * (first_number(config, "num_key_value_heads") or heads)
    pair = 2 * key_width * VALUE_BYTES[cell.precision]
    return cell.batch_size * min(tokens, window) * layers(config) * pair


def _activations(cell: Cell, model: ModelSpec) -> float:
    config, size = text_config(model), VALUE_BYTES[cell.precision]
    tokens = cell.batch_size * tokens_of(cell, model)
    inner = first_number(config, "intermediate_size", "n_inner", "d_ff")
    layer = tokens * (width(config) + inner) * size
    scores_all = cell.mode != "generation" and model.architecture in _SCORES_FOR_ALL_TOKENS
    scores = tokens * first_number(config, "vocab_size") * size if scores_all else 0.0
    if cell.mode == "training":
        return layer * layers(config) + 2 * scores
    return max(layer, scores)
