"""What the folder of a pretrained model tells about it, so that its entry need not."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from orchestrator.matrix.size_presets import LADDERS, Config, Ladder
from orchestrator.system.weights import revision
from runner.contract.models import Family, Modality
from runner.contract.weights import CONFIG_FILE, WEIGHTS_SUFFIX, count_parameters, weight_files

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


class Undescribed(Exception):
    """The folder doesn't tell what the entry leaves out; `key` of the entry is to blame."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


def read_folder(folder: Path) -> Config:
    """What a folder's files tell: configuration, where it lies, which weights and how many.

    Raises:
        Undescribed: it is no folder of a model with weights in safetensors.
    """
    if not folder.is_dir():
        raise Undescribed("path", f"{str(folder)!r} is not a folder")
    if not weight_files(folder):
        message = f"{str(folder)!r} holds no {WEIGHTS_SUFFIX} file, the one format that is loaded"
        raise Undescribed("path", message)
    try:
        config = json.loads((folder / CONFIG_FILE).read_bytes())
        if not isinstance(config, dict) or not isinstance(config.get("model_type"), str):
            raise Undescribed("path", f"{CONFIG_FILE} in {str(folder)!r} names no model_type")
        return {
            "config": config,
            "path": str(folder.absolute()),
            "revision": revision(folder),
            "parameters": count_parameters(folder) or None,
        }
    except (OSError, ValueError) as error:
        raise Undescribed("path", f"{str(folder)!r} cannot be read: {error}") from error


def implied(config: Config, family: Family, modality: Modality, given: Config) -> Config:
    """What follows from the configuration of a model, without what its entry gives itself.

    Raises:
        Undescribed: something doesn't follow, and must be given.
    """
    ladder = LADDERS.get((family, modality))
    architecture, task = _head(config, given)
    named = {"architecture": architecture, "task": task}
    trained = ladder if ladder and ladder.architecture == architecture else None
    found: Config = {
        "forward": dict(trained.forward) if trained else {},
        "encoder_decoder": bool(config.get("is_encoder_decoder")),
        "max_sequence_length": _longest(config) if modality == "text" else None,
        **{key: value for key, value in named.items() if value},
        **dict(_tensors(config, ladder, trained, given)),
    }
    return found | given


def _head(config: Config, given: Config) -> tuple[str, str | None]:
    """The entry's own architecture, or that of the class which the weights were saved from."""
    classes = config.get("architectures") or [""]
    known = next((kind for end, kind in _HEADS.items() if str(classes[0]).endswith(end)), None)
    if "architecture" in given:
        tasks = dict(_HEADS.values())
        return given["architecture"], given.get("task") or tasks.get(given["architecture"])
    if known is None:
        raise Undescribed(
            "architecture",
            f"is required: {CONFIG_FILE} says {classes[0]!r}, for which none is known",
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
            raise Undescribed("inputs", "is required: it doesn't follow from such a model's files")
        yield "inputs", _from(ladder.inputs, config, "inputs")
    if "labels" not in given and trained is not None:
        classes = {"num_labels": len(config.get("id2label") or (0, 1))}
        yield "labels", _from(trained.labels, classes | config, "labels")


def _from(make: Callable[[Config], Any], config: Config, key: str) -> Any:
    try:
        return make(config)
    except KeyError as error:
        raise Undescribed(key, f"is required: {CONFIG_FILE} has no {error.args[0]}") from error
