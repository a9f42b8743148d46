"""Seeded random weights that let every part of a model matter.

Every product keeps its signal's size (LeCun and others 1998; He and others 2015), or sub-layers
would hide what a kernel does wrong in them; and no parameter has a value at which leaving it out
would change nothing: norms scale and shift, biases are not 0, positions weigh as much as tokens.
"""

import math
from collections.abc import Iterator, Mapping
from itertools import cycle
from typing import Any, NamedTuple

import torch
from transformers.pytorch_utils import Conv1D

_POOL_SIZE = 4_194_301
"""A prime, so that no two rows of a table are equal: no logits would tell their tokens apart."""
_STRIDE = 7919
"""A prime, so that parameters start at different places of the pool."""
_SPREAD = 0.25
"""Deviation of norms' weights around 1, and of all biases around 0: large enough that one that is
lost shows beside the rounding of int8, small enough that no norm's weight is 0."""
_TEMPERATURE = math.log(1 / 0.07)  # with which contrastive models start training
_CONSTANTS: Mapping[str, float] = {
    "logit_scale": _TEMPERATURE,
    "logit_scale_a": _TEMPERATURE,
    "logit_scale_t": _TEMPERATURE,
    "parametrizations.weight.original0": 1.0,  # the length of a weight-normed convolution's rows
}
"""Values of parameters whose name ends so."""
_CONVOLUTIONS = (torch.nn.Conv1d, torch.nn.Conv2d, torch.nn.Conv3d)


class Normal(NamedTuple):
    """A normal distribution."""

    mean: float
    deviation: float


UNIT = Normal(0.0, 1.0)
_NORM_WEIGHT = Normal(1.0, 1.4 * _SPREAD)
_BIAS = Normal(0.0, _SPREAD)
_NORM_BIAS = Normal(0.0, 3 * _SPREAD)
_LONE_NORM_WEIGHT = Normal(1.0, 2 * _SPREAD)
"""Of norms without a bias, whose weights alone tell whether they are there."""
_FROZEN_WEIGHT = Normal(2**0.5, _SPREAD)


@torch.no_grad()
def fill_randomly(model: torch.nn.Module, seed: int) -> None:
    """Fill all parameters from one seeded pool of normal numbers, as `distributions` says."""
    generator = torch.Generator().manual_seed(seed)
    pool = torch.randn(_POOL_SIZE, generator=generator)
    normals = distributions(model)
    for index, (name, parameter) in enumerate(model.named_parameters()):
        constant = next((value for end, value in _CONSTANTS.items() if name.endswith(end)), None)
        if constant is not None:
            parameter.fill_(constant)
        else:
            normal = normals.get(id(parameter), UNIT)
            _copy_repeated(pool, parameter, index * _STRIDE % _POOL_SIZE, normal)
    _fill_frozen_norms(model, pool)


def distributions(model: torch.nn.Module) -> dict[int, Normal]:
    """The distribution of each parameter by its id, those of unit deviation left out.

    Weights of linear layers and convolutions have the deviation 1/√n where n values are summed;
    what is looked up or added to a stream has 1, if a linear layer shares it, too.
    """
    normals: dict[int, Normal] = {}
    embeddings: set[int] = set()
    for module in model.modules():
        if isinstance(module, torch.nn.Embedding):
            embeddings.add(id(module.weight))
        for name, parameter in module.named_parameters(recurse=False):
            normals |= {id(parameter): normal for normal in _own(module, name, parameter)}
    for module in model.modules():  # behind the linear layers that they consist of
        if type(module).__name__ == "T5Attention":  # does not divide its scores: weights must
            attention: Any = module
            summed = attention.q.in_features * attention.key_value_proj_dim
            normals[id(attention.q.weight)] = Normal(0.0, summed**-0.5)
    plain = {key: normal for key, normal in normals.items() if key not in embeddings}
    # This table is added to queries and keys alone, and alone tells them apart.
    tables = (p for name, p in model.named_parameters() if "query_position_embeddings" in name)
    return plain | {id(parameter): Normal(0.0, 4.0) for parameter in tables}


def _own(module: torch.nn.Module, name: str, parameter: torch.nn.Parameter) -> Iterator[Normal]:
    if "norm" in type(module).__name__.lower() and name in {"weight", "bias"}:
        biased = getattr(module, "bias", None) is not None
        weight = _NORM_WEIGHT if biased else _LONE_NORM_WEIGHT
        yield weight if name == "weight" else _NORM_BIAS
    elif name == "bias":
        yield _BIAS
    elif isinstance(module, (_CONVOLUTIONS, torch.nn.Linear)):
        yield Normal(0.0, parameter[0].numel() ** -0.5)
    elif isinstance(module, Conv1D) or name.endswith("_projection"):  # their inputs are rows
        yield Normal(0.0, len(parameter) ** -0.5)


def _fill_frozen_norms(model: torch.nn.Module, pool: torch.Tensor) -> None:
    """Fill a frozen norm's buffers, which copy parameters that no initialiser has seen.

    They normalise nothing, so they make up for what the rectifier behind each takes, and shift
    less.
    """
    for module in model.modules():
        if "frozen" in type(module).__name__.lower():
            for index, (name, buffer) in enumerate(module.named_buffers(recurse=False)):
                if name == "running_var":
                    buffer.fill_(1.0)
                else:
                    normal = _FROZEN_WEIGHT if name == "weight" else _BIAS
                    _copy_repeated(pool, buffer, index * _STRIDE % _POOL_SIZE, normal)


def _copy_repeated(pool: torch.Tensor, tensor: torch.Tensor, offset: int, normal: Normal) -> None:
    target, position = tensor.view(-1), 0
    for source in cycle((pool[offset:], pool[:offset])):
        chunk = target[position : position + source.numel()]
        numbers = source[: chunk.numel()] * normal.deviation
        chunk.copy_(numbers if normal.mean == 0 else numbers + normal.mean)
        position += chunk.numel()
        if position == target.numel():
            return
