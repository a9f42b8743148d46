"""The parts of a transformers model that sabotages break, found by their classes and names."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import torch
from transformers import activations as transformers_activations
from transformers.pytorch_utils import Conv1D

from runner.contract.axes import Precision

_PROJECTIONS = ("o_proj", "out_proj", "c_proj", "o", "proj")
_COUNTS = ("num_heads", "n_heads", "num_attention_heads")
_SIZES = ("head_dim", "attention_head_size", "key_value_proj_dim")
_UNUSED = "is_unused"
"""The attribute of norms that change no output."""
_CROSS = ("cross", "encoder_attn", "EncDec")
_ROUND_IN: dict[Precision, torch.dtype] = {
    "fp32": torch.float16,
    "fp16": torch.float8_e4m3fn,
    "bf16": torch.float8_e4m3fn,
}
_INT4 = 7


class Inapplicable(Exception):
    """The model has no such part."""


def attentions(model: Any) -> Iterator[tuple[str, Any]]:
    """The innermost modules of attention, with their names."""
    for name, module in model.named_modules():
        inner = (part for part in module.modules() if part is not module)
        if _is_attention(module) and not any(map(_is_attention, inner)):
            yield name, module


def projections(model: Any, kind: str = "") -> Iterator[tuple[Any, int]]:
    """The layers that take all heads side by side, with the number of heads; `cross` ones alone."""
    modules = dict(model.named_modules())
    for name, attention in attentions(model):
        if kind and not any(word in name for word in _CROSS):
            continue
        children = dict(attention.named_children())
        own = [children[child] for child in _PROJECTIONS if child in children]
        layer = own[0] if own else modules[name.rpartition(".")[0]].output.dense
        yield layer, _heads_of(attention)


def inner_layers(model: Any, names: tuple[str, ...]) -> Iterator[tuple[Any, int]]:
    """The attentions' linear layers of these names, each with the size of a head."""
    for _, attention in attentions(model):
        for name, child in attention.named_children():
            if name in names:
                yield child, _head_size(attention, child)


def layers(model: Any) -> list[Any]:
    """The layers of the stack that comes last: of a decoder, if there is one."""
    return list(stack(model))


def feed_forward(model: Any, place: int) -> list[Any]:
    """The linear layer that ends the feed-forward network of the layer at this place."""
    inside = layers(model)[place].modules()
    return [part for part in inside if type(part).__name__.endswith(("Linear", "Conv1D"))][-1:]


def stack(model: Any) -> torch.nn.ModuleList:
    """The list of layers that comes last."""
    stacks = [
        module
        for module in model.modules()
        if isinstance(module, torch.nn.ModuleList)
        and len(module) > 1
        and any(map(_is_attention, module[0].modules()))
        and not type(module[0]).__name__.startswith("T5Layer")
    ]
    if not stacks:
        raise Inapplicable
    return stacks[-1]


def norms(model: Any) -> list[Any]:
    """All norms with parameters that are used, in the order of their definition."""
    found = [m for m in model.modules() if "norm" in type(m).__name__.lower()]
    return [
        norm
        for norm in found
        if next(norm.parameters(recurse=False), None) is not None
        and not getattr(norm, _UNUSED, False)
    ]


def mark_unused_norms(model: Any, compute: Callable[[], Mapping[str, Any]]) -> None:
    """Norms without which all outputs are the same, bit by bit, are none of `norms` from then on.

    Such are those behind the layer of a vision tower whose features a language model takes.
    """
    complete = compute()
    for norm in norms(model):
        handle = norm.register_forward_hook(lambda *given: torch.zeros_like(given[-1]))
        changed = compute()
        handle.remove()
        same = all(np.array_equal(complete[name], array) for name, array in changed.items())
        setattr(norm, _UNUSED, same)


def activations(model: Any) -> list[Any]:
    """All activation functions that are modules."""
    kinds = (torch.nn.GELU, torch.nn.ReLU, torch.nn.SiLU)
    home = transformers_activations.__name__
    return [m for m in model.modules() if isinstance(m, kinds) or type(m).__module__ == home]


def rotary_embeddings(model: Any) -> list[Any]:
    """Modules that give the cosines and sines of text's positions."""
    found = [m for m in model.modules() if type(m).__name__.endswith("RotaryEmbedding")]
    return [module for module in found if "Vision" not in type(module).__name__]


def biases(model: Any) -> list[Any]:
    """The biases of all linear layers and convolutions."""
    kinds = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d, Conv1D)
    found = [m.bias for m in model.modules() if isinstance(m, kinds)]
    return [bias for bias in found if bias is not None]


def token_types(model: Any) -> list[Any]:
    """Tables of the kinds of tokens."""
    return [value for name, value in model.named_parameters() if "token_type" in name]


def patch_embeddings(model: Any) -> list[Any]:
    """Convolutions that cut images into patches."""
    kinds = (torch.nn.Conv2d, torch.nn.Conv3d)
    found = [m for m in model.modules() if isinstance(m, kinds) and m.kernel_size == m.stride]
    return [convolution for convolution in found if convolution.kernel_size[-1] > 1]


def position_tables(model: Any) -> list[Any]:
    """Parameters that are tables of positions."""
    return [
        value
        for name, value in model.named_parameters()
        if any(word in name.lower() for word in ("pos", "wpe", "relative_attention_bias"))
        and value.ndim > 1
        and not any(word in name for word in ("norm", "conv", "bias_table"))
    ]


def frequencies(model: Any) -> list[Any]:
    """The buffers that hold how fast text's rotary positions turn."""
    return [module.inv_freq for module in rotary_embeddings(model)]


def half_bits(precision: Precision) -> Callable[[torch.Tensor], torch.Tensor]:
    """Rounding to a number format of half the width."""
    if precision == "int8":
        return lambda weights: to_integers(weights, _INT4)
    return lambda weights: weights.float().to(_ROUND_IN[precision]).to(weights.dtype)


def to_integers(weights: torch.Tensor, largest: int) -> torch.Tensor:
    """Rounding to integers up to the largest, with a scale for each row."""
    scale = weights.float().abs().amax(-1, keepdim=True).clamp(min=1e-30) / largest
    return ((weights.float() / scale).round() * scale).to(weights.dtype)


def _is_attention(module: Any) -> bool:
    return "Attention" in type(module).__name__


def _head_size(attention: Any, layer: Any) -> int:
    for name in _SIZES:
        if hasattr(attention, name):
            return int(getattr(attention, name))
    return int(layer.out_features // _heads_of(attention))


def _heads_of(attention: Any) -> int:
    for name in _COUNTS:
        if hasattr(attention, name):
            return int(getattr(attention, name))
    return int(attention.o_proj.in_features // attention.head_dim)
