"""Facts that the folder of a pretrained model gives, so that its entry need not."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.matrix.size_presets import LADDERS, Config, Ladder
from runner.contract.errors import SkipEntry
from runner.contract.models import Family, Modality
from runner.contract.weights import (
    CONFIG_FILE,
    WEIGHTS_SUFFIX,
    count_parameters,
    revision_of,
    weight_files,
)

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
    if not folder.is_dir():
        raise SkipEntry(f"{str(folder)!r} is not a folder", key="path")
    if not weight_files(folder):
        message = f"{str(folder)!r} holds no {WEIGHTS_SUFFIX} file, the one format that is loaded"
        raise SkipEntry(message, key="path")
    try:
        config = json.loads((folder / CONFIG_FILE).read_bytes())
        if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
            raise SkipEntry(f"{CONFIG_FILE} in {str(folder)!r} names no model_type", key="path")
        return {
            "config": config,
            "path": str(folder.absolute()),
            "revision": revision_of(folder),
            "parameters": count_parameters(folder) or None,
        }
    except (OSError, ValueError) as error:
        raise SkipEntry(f"{str(folder)!r} cannot be read: {error}", key="path") from error


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
        "encoder_decoder": bool(config.get("is_encoder_decoder")),
        "max_sequence_length": _longest(config) if modality == "text" else None,
        **{key: value for key, value in named.items() if value},
        **dict(_tensors(config, ladder, trained, given)),
    }
    return facts | given


def _head(config: Config, given: Config) -> tuple[str, str | None]:
    """The entry's own architecture, or that of the class which the weights were saved from."""
    classes = config.get("architectures") or [""]
    known = next((kind for end, kind in _HEADS.items() if str(classes[0]).endswith(end)), None)
    if "architecture" in given:
        tasks = dict(_HEADS.values())
        return given["architecture"], given.get("task") or tasks.get(given["architecture"])
    if known is None:
        raise SkipEntry(
            f"is required: {CONFIG_FILE} says {classes[0]!r}, for which none is known",
            key="architecture",
        )
    return known


def _longest(config: Config) -> int | None:
    longest = config.get("max_position_embeddings") or config.get("n_positions")
    if longest and config["model_type"] in _OFFSET_POSITIONS:
        return int(longest) - 2
    return longest


def _tensors(
    config: Config, ladder: Ladder | None, trained: Ladder | None, given: Config
) -> Iterator[tuple[str, Any]]:
    """Inputs by family and modality, labels where the architecture learns from such ones."""
    if "inputs" not in given:
        if ladder is None:
            raise SkipEntry(
                "is required: it doesn't follow from such a model's files", key="inputs"
            )
        yield "inputs", _from(ladder.inputs, config, "inputs")
    if "labels" not in given and trained is not None:
        classes = {"num_labels": len(config.get("id2label") or (0, 1))}
        yield "labels", _from(trained.labels, classes | config, "labels")


def _from(make: Callable[[Config], Any], config: Config, key: str) -> Any:
    try:
        return make(config)
    except KeyError as error:
        raise SkipEntry(f"is required: {CONFIG_FILE} has no {error.args[0]}", key=key) from error
