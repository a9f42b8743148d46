"""Builds a transformers model from a bundled config and fills it with seeded random weights."""

from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import torch
import transformers
from transformers import initialization

from runner.errors import Unsupported
from runner.models import ModelSpec

POOL_SIZE = 1 << 22
STANDARD_DEVIATION = 0.02
STRIDE = 7919
"""A prime, so that parameters start at different places of the pool."""


def instantiate(spec: ModelSpec, dtype: torch.dtype) -> torch.nn.Module:
    """The model in evaluation mode on the CPU; its parameters hold whatever lay in memory.

    Transformers imports the model's own module here. The architecture's own initialisers are left
    out, since they take longer than everything else; buffers are computed as usual.

    Raises:
        Unsupported: transformers cannot build it.
    """
    with initialization.no_init_weights():
        model = _from_config(spec, dtype)
    model.tie_weights()
    model.eval()
    module: torch.nn.Module = model
    return module


def count_parameters(spec: ModelSpec) -> int:
    """The number of parameters, without allocating them."""
    with torch.device("meta"):
        model = _from_config(spec, torch.float32)
    return sum(parameter.numel() for parameter in model.parameters())


@torch.no_grad()
def fill_parameters(model: torch.nn.Module, seed: int) -> None:
    """Norm weights become 1, biases 0, everything else N(0, 0.02²) from a repeated pool."""
    generator = torch.Generator().manual_seed(seed)
    pool = torch.randn(POOL_SIZE, generator=generator) * STANDARD_DEVIATION
    norms = _norm_weights(model)
    for index, (name, parameter) in enumerate(model.named_parameters()):
        if id(parameter) in norms:
            parameter.fill_(1.0)
        elif name.endswith("bias"):
            parameter.zero_()
        else:
            _copy_repeated(pool.to(parameter.dtype), parameter, index * STRIDE % POOL_SIZE)


def restorer(model: torch.nn.Module, seed: int) -> Callable[[], None]:
    """How to undo training: the seed's parameters again, the buffers from a copy made now."""
    buffers = [buffer.clone() for buffer in model.buffers()]

    @torch.no_grad()
    def restore() -> None:
        fill_parameters(model, seed)
        for buffer, before in zip(model.buffers(), buffers, strict=True):
            buffer.copy_(before)

    return restore


def _norm_weights(model: torch.nn.Module) -> set[int]:
    return {
        id(parameter)
        for module in model.modules()
        if "norm" in type(module).__name__.lower()
        for name, parameter in module.named_parameters(recurse=False)
        if name.endswith("weight")
    }


def _copy_repeated(pool: torch.Tensor, parameter: torch.Tensor, offset: int) -> None:
    target, position = parameter.view(-1), 0
    for source in cycle((pool[offset:], pool[:offset])):
        chunk = target[position : position + source.numel()]
        chunk.copy_(source[: chunk.numel()])
        position += chunk.numel()
        if position == target.numel():
            return


def _refuse_unknown(options: Mapping[str, Any], config: Any, name: str) -> None:
    """Transformers takes any key; a misspelt one would leave the default architecture."""
    usual = type(config)()
    known = {"decoder_start_token_id"}  # every encoder-decoder takes it, few config classes say so
    unknown = [key for key in options if not hasattr(usual, key) and key not in known]
    if unknown:
        raise Unsupported(f"{name}: {config.model_type} has no {', '.join(unknown)} in its config")


def _from_config(spec: ModelSpec, dtype: torch.dtype) -> Any:
    options = dict(spec.config)
    try:
        config = transformers.AutoConfig.for_model(options.pop("model_type"), **options)
        _refuse_unknown(options, config, spec.name)
        return getattr(transformers, spec.architecture).from_config(config, dtype=dtype)
    except (KeyError, AttributeError, ValueError) as error:
        raise Unsupported(f"transformers cannot build {spec.name}: {error}") from error
