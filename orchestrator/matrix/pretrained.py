"""Facts that the folder of a pretrained model gives, so that its entry need not."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.matrix.size_presets import LADDERS, Config, Ladder, whole_number
from orchestrator.system.plain_data import parse_json
from orchestrator.system.problems import quote
from runner.contract.errors import DamagedFile, SkipEntry
from runner.contract.models import Family, Modality
from runner.contract.weights import (
    CONFIG_FILE,
    WEIGHTS_SUFFIX,
    count_parameters,
    open_model_file,
    revision_of,
    weight_files,
)

_CONFIG_BYTES = 16 << 20
"""Most bytes of a configuration: some name 20,000 classes, twice."""

_HEADS: Mapping[str, tuple[str, str]] = {
    "ForMaskedLM": ("AutoModelForMaskedLM", "fill-mask"),
    "ForCausalLM": ("AutoModelForCausalLM", "text-generation"),
    "LMHeadModel": ("AutoModelForCausalLM", "text-generation"),
    "ForSequenceClassification": ("AutoModelForSequenceClassification", "text-classification"),
    "ForTokenClassification": ("AutoModelForTokenClassification", "token-classification"),
    "ForQuestionAnswering": ("AutoModelForQuestionAnswering", "question-answering"),
    "ForImageClassification": ("AutoModelForImageClassification", "image-classification"),
    "Model": ("AutoModel", "feature-extraction"),
}
"""The class that builds a model and its task, by how the name of the original's class ends."""
_OFFSET_POSITIONS = ("roberta", "xlm-roberta", "camembert", "mpnet", "longformer")
"""Types that count positions from the padding token's id, so that the first two are never used."""


def read_folder(folder: Path) -> Config:
    """Facts from a folder's files: configuration, path, revision of the weights and their number.

    Raises:
        SkipEntry: it is no folder of a model with weights in safetensors.
    """
    try:
        return _facts(folder)
    except (OSError, ValueError, DamagedFile) as error:
        raise SkipEntry(f"{str(folder)!r} cannot be read: {error}", key="path") from error


def _facts(folder: Path) -> Config:
    shown = repr(str(folder))
    if not folder.is_dir():
        raise SkipEntry(f"{shown} is not a folder", key="path")
    if not weight_files(folder):
        message = f"{shown} holds no {WEIGHTS_SUFFIX} file, the one format that is loaded"
        raise SkipEntry(message, key="path")
    config = _config(folder)
    if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
        raise SkipEntry(f"{CONFIG_FILE} in {shown} names no model_type", key="path")
    return {
        "config": config,
        "path": str(folder.absolute()),
        "parameters": count_parameters(folder) or None,
        "revision": revision_of(folder),
    }


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


def implied(config: Config, family: Family, modality: Modality, given: Config) -> Config:
    """Facts that follow from the configuration of a model, without those that its entry gives.

    Raises:
        SkipEntry: something doesn't follow, and must be given.
    """
    ladder = LADDERS.get((family, modality))
    architecture, task = _head(config, given)
    named = {"architecture": architecture, "task": task}
    trained = ladder if ladder and ladder.architecture == architecture else None
    facts: Config = {
        "forward": dict(trained.forward) if trained else {},
        **{key: value for key, value in named.items() if value},
        **dict(_sizes(config, modality, given)),
        **dict(_tensors(config, ladder, trained, given)),
    }
    return facts | given


def _head(config: Config, given: Config) -> tuple[str, str | None]:
    """The entry's own architecture, or that of the class which the weights were saved from."""
    if "architecture" in given:
        tasks = dict(_HEADS.values())
        return given["architecture"], given.get("task") or tasks.get(given["architecture"])
    classes = config.get("architectures") or [""]
    original = classes[0] if isinstance(classes, list) else classes
    if not isinstance(original, str):
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(classes)} for architectures, "
            "which is not a list of names",
            key="architecture",
        )
    known = next((kind for end, kind in _HEADS.items() if original.endswith(end)), None)
    if known is None:
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(original)}, for which none is known",
            key="architecture",
        )
    return known


def _sizes(config: Config, modality: Modality, given: Config) -> Iterator[tuple[str, Any]]:
    if "encoder_decoder" not in given:
        two_parts = config.get("is_encoder_decoder") or False
        if not isinstance(two_parts, bool):
            raise SkipEntry(
                f"is required: {CONFIG_FILE} says {quote(two_parts)} for is_encoder_decoder, "
                "which is neither true nor false",
                key="encoder_decoder",
            )
        yield "encoder_decoder", two_parts
    if "max_sequence_length" not in given:
        yield "max_sequence_length", _longest(config) if modality == "text" else None


def _longest(config: Config) -> int | None:
    names = ("max_position_embeddings", "n_positions")
    name = next((name for name in names if config.get(name) is not None), None)
    if name is None:
        return None
    unused = 2 if config["model_type"] in _OFFSET_POSITIONS else 0
    return whole_number(config, name, "max_sequence_length", least=unused + 1) - unused


def _tensors(
    config: Config, ladder: Ladder | None, trained: Ladder | None, given: Config
) -> Iterator[tuple[str, Any]]:
    """Inputs by family and modality, labels where the architecture learns from such ones."""
    if "inputs" not in given:
        if ladder is None:
            raise SkipEntry(
                "is required: it doesn't follow from such a model's files", key="inputs"
            )
        yield "inputs", ladder.inputs(config)
    if "labels" not in given and trained is not None:
        yield "labels", trained.labels(_classes(config) | config)


def _classes(config: Config) -> Config:
    """The number of classes, by their names or transformers' default."""
    names = config.get("id2label") or [0, 1]
    if not isinstance(names, dict | list):
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {quote(names)} for id2label, "
            "which is not a table of names",
            key="labels",
        )
    return {"num_labels": len(names)}
