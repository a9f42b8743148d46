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
    """Facts from a folder's files: configuration, and path, revision and number of its weights.

    Args:
        folder: the folder, which holds a config.json.
        weights: the origin of the parameters; None for those that lie there, else random ones.
    """
    try:
        return _facts(folder, weights)
    except (OSError, ValueError, DamagedFile) as error:
        raise SkipEntry(f"{str(folder)!r} cannot be read: {error}", key="path") from error


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
    shown = repr(str(folder))
    if not folder.is_dir():
        raise SkipEntry(f"{shown} is not a folder", key="path")
    if not (folder / CONFIG_FILE).is_symlink() and not (folder / CONFIG_FILE).exists():
        raise SkipEntry(f"{shown} holds no {CONFIG_FILE}, so it is no model", key="path")
    config = _config(folder)
    config = config if isinstance(config, dict) else {}
    _require_no_code(folder, config)
    if fault := unknown_type(config):
        raise SkipEntry(f"{CONFIG_FILE} in {shown} {fault}", key="path")
    _require_plain_numbers(folder, config)
    _require_no_timm(folder, config)
    if (weights or _weights_in(folder)) == "random":
        return {"config": config, "weights": "random"}
    if not weight_files(folder):
        raise SkipEntry(_without_weights(folder), key="path")
    return {
        "config": config,
        "weights": "pretrained",
        "path": str(folder.absolute()),
        "parameters": count_parameters(folder) or None,
        "revision": revision_of(folder),
    }


def _weights_in(folder: Path) -> Weights:
    """Pretrained where files of weights lie, of any format: those are never left out in silence."""
    others = any(next(folder.glob(pattern), None) for pattern in _OTHER_WEIGHTS)
    return "pretrained" if others or weight_files(folder) else "random"


def _without_weights(folder: Path) -> str:
    others = sorted(path.name for pattern in _OTHER_WEIGHTS for path in folder.glob(pattern))
    message = f"{str(folder)!r} holds no {WEIGHTS_SUFFIX} file, the one format that is loaded"
    return f"{message}, but {_listed(others)}" if others else message


def _require_no_code(folder: Path, config: Config) -> None:
    names = [*_mapped_code(config), *_code_beside(folder)]
    if names:
        raise SkipEntry(
            f"{str(folder)!r} brings its own code ({_listed(names)}); AccelMatrix runs none"
            f"{_instead_of_code(config)}",
            key="path",
        )


def _instead_of_code(config: Config) -> str:
    if fault := unknown_type(config):
        return f", and {CONFIG_FILE} {fault}"
    return (
        f". If transformers' own {config['model_type']} is the same model, name a copy of the "
        f"folder without such files and without auto_map in {CONFIG_FILE}"
    )


def _code_beside(folder: Path) -> Iterator[str]:
    for pattern in _CODE_FILES:
        yield from sorted(path.name for path in folder.glob(pattern))


def _mapped_code(config: Config) -> Iterator[str]:
    """The modules that `auto_map` names, such as `modeling_mine.py` or a repository's."""
    mapped = config.get("auto_map")
    if not mapped:
        return
    if not isinstance(mapped, dict):
        yield "auto_map"
        return
    for kind, reference in mapped.items():
        if kind.startswith(_CODE_KEYS):
            module, dot, _ = str(reference).rpartition(".")
            yield f"{module}.py" if dot else "auto_map"


def _require_plain_numbers(folder: Path, config: Config) -> None:
    quantised = config.get("quantization_config")
    if quantised:
        method = quantised.get("quant_method") if isinstance(quantised, dict) else quantised
        raise SkipEntry(
            f"{str(folder)!r} holds quantised weights ({quote(method)}), which are not loaded: "
            "name the folder of the original, with --precision int8 if need be",
            key="path",
        )


def _require_no_timm(folder: Path, config: Config) -> None:
    """Refuse what transformers builds with another library, as old detectors' backbones are."""
    parts = (config, config.get("backbone_config"))
    kinds = [part.get("model_type") for part in parts if isinstance(part, dict)]
    if config.get("use_timm_backbone") or any(str(kind).startswith("timm") for kind in kinds):
        raise SkipEntry(
            f"{str(folder)!r} takes a part from timm, a library that no image has: get the model "
            "without it, as DETR is by `hf download … --revision no_timm`",
            key="path",
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
