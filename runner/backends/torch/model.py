"""Build a transformers model from a config, fill its weights, and restore them after training.

Pretrained weights come from a folder or a hub's commit: safetensors only, no remote code.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from transformers import initialization
from transformers.utils import logging

from runner.backends.torch.random_weights import fill_randomly
from runner.contract.errors import Unavailable, Unsupported
from runner.contract.models import ModelSpec
from runner.contract.models.catalogue import CONFIG_FILE, WEIGHTS_SUFFIX, folder_of
from runner.contract.reasons import reason

_SOURCE = "accelmatrix_weights"
"""The attribute of a model that holds the description of its pretrained weights."""
_SHOWN = 3


def instantiate(spec: ModelSpec, dtype: torch.dtype) -> torch.nn.Module:
    """The model in evaluation mode on the CPU, uninitialised, since the architecture's own
    initialisers take longer than everything else; buffers are computed as usual.
    """
    with initialization.no_init_weights():
        model = _from_config(spec, dtype)
    model.tie_weights()
    model.eval()
    if spec.weights == "pretrained":
        setattr(model, _SOURCE, spec)
    module: torch.nn.Module = model
    return module


def build_without_weights(spec: ModelSpec) -> Any:
    """The model in evaluation mode, its tensors without data."""
    with torch.device("meta"):
        return _from_config(spec, torch.float32).eval()


def parameter_count(spec: ModelSpec) -> int:
    return sum(parameter.numel() for parameter in build_without_weights(spec).parameters())


@torch.no_grad()
def fill_parameters(model: torch.nn.Module, seed: int) -> None:
    """Fill all parameters, which stay the same objects, with pretrained or else random weights."""
    spec: ModelSpec | None = getattr(model, _SOURCE, None)
    if spec is None:
        fill_randomly(model, seed)
        return
    loaded = _load(spec, next(model.parameters()).dtype)
    theirs = dict(loaded.named_parameters())
    for name, parameter in model.named_parameters():
        parameter.data = theirs[name].data.to(parameter.device)
    for mine, other in zip(model.buffers(), loaded.buffers(), strict=True):
        mine.copy_(other)


def weights_restorer(model: torch.nn.Module, seed: int) -> Callable[[], None]:
    """A function that undoes training: parameters from the seed, buffers from a copy made now."""
    buffers = [buffer.clone() for buffer in model.buffers()]

    @torch.no_grad()
    def restore() -> None:
        fill_parameters(model, seed)
        for buffer, before in zip(model.buffers(), buffers, strict=True):
            buffer.copy_(before)

    return restore


def weights_columns(model: torch.nn.Module) -> dict[str, object]:
    """Columns of a record about weights from a hub; those from a folder are known already."""
    spec: ModelSpec | None = getattr(model, _SOURCE, None)
    if spec is None or folder_of(spec) is not None:
        return {}
    return {"weights_revision": _folder(spec).name}


def _from_config(spec: ModelSpec, dtype: torch.dtype) -> Any:
    # An architecture may be called pretrained while its weights were left out of its description.
    has_source = spec.path is not None or spec.hub_id is not None
    try:
        if spec.weights == "pretrained" and has_source:
            config = _pretrained_config(spec)
        else:
            config = _bundled_config(spec)
        return getattr(transformers, spec.architecture).from_config(config, dtype=dtype)
    except (KeyError, AttributeError, ValueError) as error:
        raise Unsupported(reason("cannot_build", model=spec.name, error=error)) from error


def _pretrained_config(spec: ModelSpec) -> Any:
    with _translate_errors(spec):
        config = transformers.AutoConfig.from_pretrained(_folder(spec), trust_remote_code=False)
    for name, value in spec.config.items():
        actual = getattr(config, name, value)
        if type(value) is int and actual != value:
            facts = {"model": spec.name, "key": name, "actual": actual, "wanted": value}
            raise Unsupported(reason("config_differs", **facts))
    return config


def _bundled_config(spec: ModelSpec) -> Any:
    """The configuration of a description, in which a misspelt key would leave the default
    architecture; what lies beside weights, or transformers wrote, may hold old keys.
    """
    options = _with_floats(spec.config)
    config = transformers.AutoConfig.for_model(options.pop("model_type"), **options)
    if spec.saved_by_transformers or spec.weights != "random":
        return config
    usual = type(config)()
    known = {"decoder_start_token_id"}  # every encoder-decoder takes it, few config classes say so
    unknown = [key for key in options if not hasattr(usual, key) and key not in known]
    if unknown:
        facts = {"model": spec.name, "model_type": config.model_type}
        raise Unsupported(reason("config_lacks", **facts, keys=", ".join(unknown)))
    return config


def _with_floats(value: Any) -> Any:
    """The value with numbers in the place of what transformers writes for those JSON lacks."""
    if isinstance(value, dict):
        if value.keys() == {"__float__"}:
            return float(value["__float__"])
        return {key: _with_floats(item) for key, item in value.items()}
    return [_with_floats(item) for item in value] if isinstance(value, list) else value


def _load(spec: ModelSpec, dtype: torch.dtype) -> torch.nn.Module:
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    architecture = getattr(transformers, spec.architecture)
    with _translate_errors(spec):
        loaded, report = architecture.from_pretrained(
            _folder(spec),
            dtype=dtype,
            use_safetensors=True,
            trust_remote_code=False,
            output_loading_info=True,
        )
    if missing := sorted(report["missing_keys"]):
        facts = {
            "weights": ", ".join(missing[:_SHOWN]),
            "more": f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else "",
            "architecture": spec.architecture,
        }
        raise Unsupported(reason("weights_lack", model=spec.name, **facts))
    module: torch.nn.Module = loaded
    return module


def _folder(spec: ModelSpec) -> Path:
    return folder_of(spec) or _snapshot(str(spec.hub_id), spec.revision)


@cache
def _snapshot(hub_id: str, revision: str | None) -> Path:
    """The local folder of one of the hub's commits, named after the commit."""
    files = [CONFIG_FILE, f"*{WEIGHTS_SUFFIX}", f"*{WEIGHTS_SUFFIX}.index.json"]
    return Path(snapshot_download(hub_id, revision=revision, allow_patterns=files))


@contextmanager
def _translate_errors(spec: ModelSpec) -> Iterator[None]:
    try:
        yield
    except (OSError, SafetensorError) as error:
        line = str(error).strip().splitlines()[0]
        raise Unavailable(reason("weights_unloadable", model=spec.name, error=line)) from error
    except (ValueError, RuntimeError) as error:
        line = str(error).strip().splitlines()[0]
        raise Unsupported(reason("cannot_build", model=spec.name, error=line)) from error
