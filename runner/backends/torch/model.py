"""Build a transformers model from a config, and restore its weights after training."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
import transformers
from transformers import initialization

from runner.backends.torch.random_weights import fill_parameters
from runner.backends.torch.weights import pretrained_config, remember_weights
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec
from runner.contract.reasons import reason

_WRITTEN_BY = "transformers_version"
"""The key of a configuration that transformers wrote."""


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


def weights_restorer(model: torch.nn.Module, seed: int) -> Callable[[], None]:
    """A function that undoes training: parameters from the seed, buffers from a copy made now."""
    buffers = [buffer.clone() for buffer in model.buffers()]

    @torch.no_grad()
    def restore() -> None:
        fill_parameters(model, seed)
        for buffer, before in zip(model.buffers(), buffers, strict=True):
            buffer.copy_(before)

    return restore


def _refuse_unknown(options: Mapping[str, Any], config: Any, name: str) -> None:
    """Transformers takes any key; a misspelt one would leave the default architecture."""
    usual = type(config)()
    known = {"decoder_start_token_id"}  # every encoder-decoder takes it, few config classes say so
    unknown = [key for key in options if not hasattr(usual, key) and key not in known]
    if unknown:
        raise Unsupported(
            reason(
                "config_lacks", model=name, model_type=config.model_type, keys=", ".join(unknown)
            )
        )


def _from_config(spec: ModelSpec, dtype: torch.dtype) -> Any:
    try:
        config = pretrained_config(spec) if _lies_somewhere(spec) else _bundled_config(spec)
        return getattr(transformers, spec.architecture).from_config(config, dtype=dtype)
    except (KeyError, AttributeError, ValueError) as error:
        raise Unsupported(reason("cannot_build", model=spec.name, error=error)) from error


def _lies_somewhere(spec: ModelSpec) -> bool:
    """False also for an architecture whose weights were left out of its description."""
    return spec.weights == "pretrained" and (spec.path is not None or spec.hub_id is not None)


def _bundled_config(spec: ModelSpec) -> Any:
    """The configuration of a description; one beside weights, or that transformers wrote, may hold
    old keys.
    """
    options = _with_floats(spec.config)
    config = transformers.AutoConfig.for_model(options.pop("model_type"), **options)
    if _WRITTEN_BY not in options and spec.weights == "random":
        _refuse_unknown(options, config, spec.name)
    return config


def _with_floats(value: Any) -> Any:
    """The value with numbers in the place of what transformers writes for those JSON lacks."""
    if isinstance(value, dict):
        if value.keys() == {"__float__"}:
            return float(value["__float__"])
        return {key: _with_floats(item) for key, item in value.items()}
    return [_with_floats(item) for item in value] if isinstance(value, list) else value
