"""Pretrained weights, from a folder or a hub's commit: safetensors alone, nobody's code."""

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
from runner.contract.weights import CONFIG_FILE, WEIGHTS_SUFFIX, folder_of

_SOURCE = "accelmatrix_weights"
"""The attribute by which a model knows where its weights come from."""
_SHOWN = 3


def pretrained_config(spec: ModelSpec) -> Any:
    """The configuration that lies beside the weights.

    Raises:
        Unavailable: it cannot be read.
        Unsupported: it is not what the model was described to be.
    """
    with _told(spec):
        config = transformers.AutoConfig.from_pretrained(_folder(spec), trust_remote_code=False)
    for name, value in spec.config.items():
        found = getattr(config, name, value)
        if type(value) is int and found != value:
            raise Unsupported(f"{spec.name}: its config.json says {name} {found}, not {value}")
    return config


def remember_weights(model: torch.nn.Module, spec: ModelSpec) -> None:
    """Let `load_weights` know the model again; does nothing for random weights."""
    if spec.weights == "pretrained":
        setattr(model, _SOURCE, spec)


@torch.no_grad()
def load_weights(model: torch.nn.Module) -> bool:
    """Put the pretrained weights into the model; False if it shall have random ones.

    Parameters stay the same objects, on the same device.

    Raises:
        Unavailable: the weights cannot be read.
        Unsupported: they do not fill this architecture.
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
    """Columns of a record that tell which weights a hub gave; a folder's are known already."""
    spec: ModelSpec | None = getattr(model, _SOURCE, None)
    if spec is None or folder_of(spec) is not None:
        return {}
    return {"weights_revision": _folder(spec).name}


def _load(spec: ModelSpec, dtype: torch.dtype) -> torch.nn.Module:
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    architecture = getattr(transformers, spec.architecture)
    with _told(spec):
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
            f"{spec.name}: its weights lack {', '.join(missing[:_SHOWN])}{more}, "
            f"which {spec.architecture} has"
        )
    module: torch.nn.Module = loaded
    return module


def _folder(spec: ModelSpec) -> Path:
    return folder_of(spec) or _snapshot(str(spec.hub_id), spec.revision)


@cache
def _snapshot(hub_id: str, revision: str | None) -> Path:
    """The local folder of one commit of the hub's, whose name is the commit's."""
    files = [CONFIG_FILE, f"*{WEIGHTS_SUFFIX}", f"*{WEIGHTS_SUFFIX}.index.json"]
    return Path(snapshot_download(hub_id, revision=revision, allow_patterns=files))


@contextmanager
def _told(spec: ModelSpec) -> Iterator[None]:
    """What the library says of weights that cannot be had becomes the reason."""
    try:
        yield
    except (OSError, SafetensorError) as error:
        raise Unavailable(
            f"{spec.name}: its weights cannot be loaded: {_first_line(error)}",
            hint="name a folder with `path`; hubs are asked only where HF_HUB_OFFLINE=0 is set",
        ) from error
    except (ValueError, RuntimeError) as error:
        raise Unsupported(f"transformers cannot build {spec.name}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
