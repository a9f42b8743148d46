"""Build a transformers model from a config and fill it with seeded random weights."""

import math
from collections.abc import Callable, Mapping
from itertools import cycle
from typing import Any

import torch
import transformers
from transformers import initialization

from runner.backends.torch.weights import load_weights, pretrained_config, remember_weights
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec

_POOL_SIZE = 1 << 22
_STANDARD_DEVIATION = 0.02
_WRITTEN_BY = "transformers_version"
"""The key of a configuration that transformers wrote."""
_STRIDE = 7919
"""A prime, so that parameters start at different places of the pool."""
_TEMPERATURE = math.log(1 / 0.07)
"""The temperature with which contrastive models start training."""
_CONSTANTS: Mapping[str, float] = {
    "bias": 0.0,
    "logit_scale": _TEMPERATURE,
    "logit_scale_a": _TEMPERATURE,
    "logit_scale_t": _TEMPERATURE,
    "parametrizations.weight.original0": 1.0,  # the length of a weight-normed convolution's rows
}
"""Values of parameters whose name ends so."""


def instantiate(spec: ModelSpec, dtype: torch.dtype) -> torch.nn.Module:
    """The model in evaluation mode on the CPU, its parameters uninitialised.

    Transformers imports the model's own module here. The architecture's own initialisers are left
    out, since they take longer than everything else; buffers are computed as usual.

    Raises:
        Unsupported: transformers cannot build it.
    """
    with initialization.no_init_weights():
        model = _from_config(spec, dtype)
    model.tie_weights()
    model.eval()
    remember_weights(model, spec)
    module: torch.nn.Module = model
    return module


def build_without_weights(spec: ModelSpec) -> Any:
    """The model in evaluation mode, its tensors without data.

    Raises:
        Unsupported: transformers cannot build it.
    """
    with torch.device("meta"):
        return _from_config(spec, torch.float32).eval()


def parameter_count(spec: ModelSpec) -> int:
    """The number of parameters, without allocating them."""
    return sum(parameter.numel() for parameter in build_without_weights(spec).parameters())


@torch.no_grad()
def fill_parameters(model: torch.nn.Module, seed: int) -> None:
    """Set norm weights to 1, biases to 0, scales as usual, all else to N(0, 0.02²) from a pool.

    The deviation of convolutions keeps a signal's size, since a dozen of them may follow each other
    without a norm. A model with pretrained weights gets those.
    """
    if load_weights(model):
        return
    generator = torch.Generator().manual_seed(seed)
    pool = torch.randn(_POOL_SIZE, generator=generator)
    norms, deviations = _norm_weights(model), _convolution_deviations(model)
    for index, (name, parameter) in enumerate(model.named_parameters()):
        constant = 1.0 if id(parameter) in norms else _constant(name)
        if constant is not None:
            parameter.fill_(constant)
        else:
            deviation = deviations.get(id(parameter), _STANDARD_DEVIATION)
            _copy_repeated(pool, parameter, index * _STRIDE % _POOL_SIZE, deviation)
    _fill_frozen_norms(model)


def weights_restorer(model: torch.nn.Module, seed: int) -> Callable[[], None]:
    """A function that undoes training: parameters from the seed, buffers from a copy made now."""
    buffers = [buffer.clone() for buffer in model.buffers()]

    @torch.no_grad()
    def restore() -> None:
        fill_parameters(model, seed)
        for buffer, before in zip(model.buffers(), buffers, strict=True):
            buffer.copy_(before)

    return restore


def _constant(name: str) -> float | None:
    """The initial value of the parameter of that name if noise would do harm."""
    return next((value for end, value in _CONSTANTS.items() if name.endswith(end)), None)


def _fill_frozen_norms(model: torch.nn.Module) -> None:
    """A frozen norm's buffers are copies of parameters that no initialiser has seen."""
    for module in model.modules():
        if "frozen" in type(module).__name__.lower():
            for name, buffer in module.named_buffers(recurse=False):
                buffer.fill_(0.0 if name in {"bias", "running_mean"} else 1.0)


def _norm_weights(model: torch.nn.Module) -> set[int]:
    return {
        id(parameter)
        for module in model.modules()
        if "norm" in type(module).__name__.lower()
        for name, parameter in module.named_parameters(recurse=False)
        if name.endswith("weight")
    }


def _convolution_deviations(model: torch.nn.Module) -> dict[int, float]:
    """The root of one by the number of values that each output of a convolution sums up."""
    return {
        id(parameter): parameter[0].numel() ** -0.5
        for module in model.modules()
        if isinstance(module, torch.nn.Conv1d | torch.nn.Conv2d | torch.nn.Conv3d)
        for name, parameter in module.named_parameters(recurse=False)
        if name == "weight"
    }


def _copy_repeated(
    pool: torch.Tensor, parameter: torch.Tensor, offset: int, deviation: float
) -> None:
    target, position = parameter.view(-1), 0
    for source in cycle((pool[offset:], pool[:offset])):
        chunk = target[position : position + source.numel()]
        chunk.copy_(source[: chunk.numel()] * deviation)
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
    try:
        config = pretrained_config(spec) if spec.weights == "pretrained" else _bundled_config(spec)
        return getattr(transformers, spec.architecture).from_config(config, dtype=dtype)
    except (KeyError, AttributeError, ValueError) as error:
        raise Unsupported(f"transformers cannot build {spec.name}: {error}") from error


def _bundled_config(spec: ModelSpec) -> Any:
    """The configuration of a description; one that transformers wrote may hold old keys."""
    options = _with_floats(spec.config)
    config = transformers.AutoConfig.for_model(options.pop("model_type"), **options)
    if _WRITTEN_BY not in options:
        _refuse_unknown(options, config, spec.name)
    return config


def _with_floats(value: Any) -> Any:
    """The value with numbers in the place of what transformers writes for those JSON lacks."""
    if isinstance(value, dict):
        if value.keys() == {"__float__"}:
            return float(value["__float__"])
        return {key: _with_floats(item) for key, item in value.items()}
    return [_with_floats(item) for item in value] if isinstance(value, list) else value
