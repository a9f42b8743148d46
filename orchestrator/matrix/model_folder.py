"""Folders of models as a hub gives them: their configuration and weights; no code of theirs."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from orchestrator.matrix.signatures import Config
from orchestrator.matrix.unknown_models import unknown_type
from orchestrator.system.plain_data import parse_json
from orchestrator.system.problems import quote
from orchestrator.system.weights import (
    count_parameters,
    open_model_file,
    repository_of,
    revision_of,
    weight_files,
)
from runner.contract.errors import DamagedFile, SkipEntry
from runner.contract.models.catalogue import CONFIG_FILE, WEIGHTS_SUFFIX

Weights = Literal["random", "pretrained"]

_CONFIG_BYTES = 16 << 20
"""Most bytes of a configuration: some name 20,000 classes, twice."""
_OTHER_WEIGHTS = ("*.bin", "*.pt", "*.pth", "*.ckpt", "*.h5", "*.msgpack", "*.gguf", "*.onnx")
"""Names of weights in formats that are not loaded; some hold code."""
_CODE_FILES = ("modeling_*.py", "configuration_*.py")
_CODE_KEYS = ("AutoConfig", "AutoModel")
"""Keys of `auto_map` that concern a model, by how they begin."""
_SHOWN = 3
_HUB_FOLDER = "models--"
_NAME_LENGTH = 100


def read_folder(folder: Path, weights: Weights | None = None) -> Config:
    """Facts from a folder's files; without `weights` those that lie there, else random ones."""
    try:
        return _facts(folder, weights)
    except (OSError, ValueError, DamagedFile) as error:
        raise _refused(folder, f"cannot be read: {error}") from error


def _refused(folder: Path, reason: str) -> SkipEntry:
    return SkipEntry(f"{str(folder)!r} {reason}", key="path")


def name_of(folder: Path) -> str:
    """The name for a folder's model: the folder's, with `-` for what names in cell ids don't hold.

    A snapshot in Hugging Face's cache has its repository's name, since its own is a commit's.
    """
    absolute = folder.absolute()
    repository = repository_of(folder)
    named = absolute.name or "model"
    if ".." in absolute.parts or repository.name.startswith(_HUB_FOLDER):
        named = repository.name.rpartition("--")[2]
    plain = re.sub(r"[^A-Za-z0-9._]+", "-", named).lstrip("-._")[:_NAME_LENGTH].rstrip("-")
    return plain or "model"


def _facts(folder: Path, weights: Weights | None) -> Config:
    if not folder.is_dir():
        raise _refused(folder, "is not a folder")
    if not (folder / CONFIG_FILE).is_symlink() and not (folder / CONFIG_FILE).exists():
        raise _refused(folder, f"holds no {CONFIG_FILE}, so it is no model")
    config = _config(folder)
    config = config if isinstance(config, dict) else {}
    _require_no_code(folder, config)
    if fault := unknown_type(config):
        raise SkipEntry(f"{CONFIG_FILE} in {str(folder)!r} {fault}", key="path")
    _require_own_parts(folder, config)
    others = sorted(path.name for pattern in _OTHER_WEIGHTS for path in folder.glob(pattern))
    own = () if weights == "random" else weight_files(folder)
    # Files of weights of any format are never left out in silence.
    if weights == "random" or not (weights or own or others):
        return {"config": config, "weights": "random"}
    if not own:
        reason = f"holds no {WEIGHTS_SUFFIX} file, the one format that is loaded"
        raise _refused(folder, f"{reason}, but {_listed(others)}" if others else reason)
    return {
        "config": config,
        "weights": "pretrained",
        "path": str(folder.absolute()),
        "parameters": count_parameters(folder) or None,
        "revision": revision_of(folder),
    }


def _require_no_code(folder: Path, config: Config) -> None:
    beside = (sorted(path.name for path in folder.glob(pattern)) for pattern in _CODE_FILES)
    names = [*_mapped_code(config), *(name for files in beside for name in files)]
    if not names:
        return
    if fault := unknown_type(config):
        instead = f", and {CONFIG_FILE} {fault}"
    else:
        instead = (
            f". If transformers' own {config['model_type']} is the same model, name a copy of the "
            f"folder without such files and without auto_map in {CONFIG_FILE}"
        )
    raise _refused(
        folder, f"brings its own code ({_listed(names)}); AccelMatrix runs none{instead}"
    )


def _mapped_code(config: Config) -> Iterator[str]:
    """The modules that `auto_map` names, such as `modeling_mine.py` or a repository's."""
    mapped = config.get("auto_map")
    if mapped and not isinstance(mapped, dict):
        yield "auto_map"
    for kind, reference in mapped.items() if isinstance(mapped, dict) else ():
        if kind.startswith(_CODE_KEYS):
            module, dot, _ = str(reference).rpartition(".")
            yield f"{module}.py" if dot else "auto_map"


def _require_own_parts(folder: Path, config: Config) -> None:
    """Refuse quantised weights, and what transformers builds with timm, as old detectors are."""
    if quantised := config.get("quantization_config"):
        method = quantised.get("quant_method") if isinstance(quantised, dict) else quantised
        raise _refused(
            folder,
            f"holds quantised weights ({quote(method)}), which are not loaded: "
            "name the folder of the original, with --precision int8 if need be",
        )
    parts = (config, config.get("backbone_config"))
    kinds = [part.get("model_type") for part in parts if isinstance(part, dict)]
    if config.get("use_timm_backbone") or any(str(kind).startswith("timm") for kind in kinds):
        raise _refused(
            folder,
            "takes a part from timm, a library that no image has: get the model "
            "without it, as DETR is by `hf download … --revision no_timm`",
        )


def _listed(names: list[str]) -> str:
    distinct = list(dict.fromkeys(names))
    shown = [name if name.isprintable() else repr(name) for name in distinct[:_SHOWN]]
    more = len(distinct) - _SHOWN
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


def _config(folder: Path) -> Any:
    """The configuration; a number that JSON lacks is kept as transformers writes it."""
    with open_model_file(folder, CONFIG_FILE, _CONFIG_BYTES) as file:
        content = file.read()
    try:
        return parse_json(content.decode("utf-8-sig"), lambda name: {"__float__": name})
    except UnicodeDecodeError as error:
        raise DamagedFile(f"{CONFIG_FILE} is not UTF-8 text (byte {error.start})") from None
    except ValueError as error:
        raise DamagedFile(f"{CONFIG_FILE}: {error}") from None
