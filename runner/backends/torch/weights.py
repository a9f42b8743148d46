"""Pretrained weights from a folder or a hub's commit: safetensors only, no remote code."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import torch
import transformers
from huggingface_hub import snapshot_download
from safetensors import SafetensorError
from transformers.utils import logging

from runner.contract.errors import Unavailable, Unsupported
from runner.contract.models import ModelSpec
from runner.contract.models.catalogue import CONFIG_FILE, WEIGHTS_SUFFIX, folder_of
from runner.contract.reasons import reason

_SOURCE = "accelmatrix_weights"
"""The attribute of a model that holds the description of its weights."""
_SHOWN = 3


def pretrained_config(spec: ModelSpec) -> Any:
    """The configuration that lies beside the weights."""
    with _translate_errors(spec):
        config = transformers.AutoConfig.from_pretrained(_folder(spec), trust_remote_code=False)
    for name, value in spec.config.items():
        actual = getattr(config, name, value)
        if type(value) is int and actual != value:
            raise Unsupported(
                reason("config_differs", model=spec.name, key=name, actual=actual, wanted=value)
            )
    return config


def remember_weights(model: torch.nn.Module, spec: ModelSpec) -> None:
    """Mark the model for `load_weights`; does nothing for random weights."""
    if spec.weights == "pretrained":
        setattr(model, _SOURCE, spec)


@torch.no_grad()
def load_weights(model: torch.nn.Module) -> bool:
    """Put the pretrained weights into the model; False if its weights are to be random.

    Parameters stay the same objects, on the same device.
    """
    spec: ModelSpec | None = getattr(model, _SOURCE, None)
    if spec is None:
        return False
    loaded = _load(spec, next(model.parameters()).dtype)
    theirs = dict(loaded.named_parameters())
    for name, parameter in model.named_parameters():
        parameter.data = theirs[name].data.to(parameter.device)
    for mine, other in zip(model.buffers(), loaded.buffers(), strict=True):
        mine.copy_(other)
    return True


def weights_columns(model: torch.nn.Module) -> dict[str, object]:
    """Columns of a record about weights from a hub; those from a folder are known already."""
    spec: ModelSpec | None = getattr(model, _SOURCE, None)
    if spec is None or folder_of(spec) is not None:
        return {}
    return {"weights_revision": _folder(spec).name}


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
        more = f" and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
        raise Unsupported(
            reason(
                "weights_lack",
                model=spec.name,
                weights=", ".join(missing[:_SHOWN]),
                more=more,
                architecture=spec.architecture,
            )
        )
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
    """Turn the library's errors about weights into reasons."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise Unavailable(
            reason("weights_unloadable", model=spec.name, error=_first_line(error))
        ) from error
    except (ValueError, RuntimeError) as error:
        raise Unsupported(
            reason("cannot_build", model=spec.name, error=_first_line(error))
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
