"""The least host memory that a cell can do with, so that what is hopeless is not even started.

    100 MB        the interpreter and the runtime's libraries
  + parameters  × bytes of each while the model is in memory, see `_BYTES`; in mode `training`
                  four times, for the gradient and AdamW's two moments
  + cache         mode `generation`: a key and a value of each token in each of the decoder's layers
  + activations   what lies in memory at once: one layer's input and its widest inner values, or
                  the scores of all words for all tokens; in training every layer's, and the scores'
                  gradient beside the scores

The sum is less than what processes were measured to use (docs/matrix.md has the table), so a cell
that fits is not refused; one that is not refused may still run out.
"""

from collections.abc import Mapping

from orchestrator.model_size import (
    Config,
    first_number,
    known_parameters,
    layers,
    text_config,
    tokens_of,
    width,
    words,
)
from runner.cell import Backend, Cell, Limits, Precision
from runner.models import ModelSpec

HOST_MEMORY: frozenset[Backend] = frozenset({"cpu", "openvino", "qnn"})
"""Backends whose models lie in the host's memory; of an accelerator's the host knows nothing."""
_RUNTIME_BYTES = 100e6
_BYTES: Mapping[Precision, int] = {"fp32": 4, "bf16": 2, "fp16": 2, "int8": 1}
_TORCH = ("torch", "torch_compile")
_TRAINED = 4
"""A parameter, its gradient and two moments, all in the same precision."""
_SCORES_FOR_ALL_TOKENS = ("AutoModelForCausalLM", "AutoModelForMaskedLM")


def shortage(cell: Cell, model: ModelSpec, limits: Limits, machine_bytes: int | None) -> str | None:
    """What the cell lacks of the memory it may use; None if it may fit, or nobody knows.

    Args:
        cell: what would run.
        model: its model.
        limits: what its job may use, which goes before what the machine can give.
        machine_bytes: host memory that a job may use without limits; None if it isn't known.
    """
    allowed = limits.memory_bytes or machine_bytes
    if allowed is None or cell.backend not in HOST_MEMORY:
        return None
    need = memory_need_bytes(cell, model)
    if need <= allowed:
        return None
    return f"needs at least {_told(need)} of memory, and {_told(allowed)} may be used"


def memory_need_bytes(cell: Cell, model: ModelSpec) -> float:
    """The least host memory that the cell's process needs at its peak, bytes."""
    copies = _TRAINED if cell.mode == "training" else 1
    weights = known_parameters(model) * _bytes_loaded(cell) * copies
    return _RUNTIME_BYTES + weights + _cache(cell, model) + _activations(cell, model)


def _bytes_loaded(cell: Cell) -> int:
    """Bytes of a parameter: whole numbers are made from fp32, and so are prepared graphs."""
    exported = cell.runtime not in _TORCH
    return _BYTES["fp32" if exported or cell.precision == "int8" else cell.precision]


def _cache(cell: Cell, model: ModelSpec) -> float:
    """Keys and values; behind an encoder those of the new tokens alone are counted."""
    if cell.mode != "generation":
        return 0.0
    config = text_config(model)
    prompt = 0 if model.encoder_decoder else tokens_of(cell, model)
    tokens = prompt + (cell.new_tokens or 0)
    window = first_number(config, "sliding_window") or tokens
    pair = 2 * _key_width(config) * _BYTES[cell.precision]
    return cell.batch_size * min(tokens, window) * layers(config) * pair


def _key_width(config: Config) -> float:
    heads = first_number(config, "num_attention_heads", "n_head", "num_heads")
    if not heads:
        return 0.0
    of_each = first_number(config, "head_dim", "d_kv") or width(config) / heads
    return of_each * (first_number(config, "num_key_value_heads") or heads)


def _activations(cell: Cell, model: ModelSpec) -> float:
    config, size = text_config(model), _BYTES[cell.precision]
    tokens = cell.batch_size * tokens_of(cell, model)
    inner = first_number(config, "intermediate_size", "n_inner", "d_ff")
    layer = tokens * (width(config) + inner) * size
    scores = tokens * words(config) * size if _scores_all(cell, model) else 0.0
    if cell.mode == "training":
        return layer * layers(config) + 2 * scores
    return max(layer, scores)


def _scores_all(cell: Cell, model: ModelSpec) -> bool:
    return cell.mode != "generation" and model.architecture in _SCORES_FOR_ALL_TOKENS


def _told(size: float) -> str:
    return f"{size / 1e9:.3g} GB"
