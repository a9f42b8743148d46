"""Files of custom models: a list of name, family, size and modality, in YAML or JSON."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import Field, PositiveInt, ValidationError

from orchestrator.matrix.model_ladder import LADDERS, Config, Ladder
from orchestrator.matrix.problems import Problem, did_you_mean, refuse, wordings
from orchestrator.matrix.source import read_source
from runner.cell import Frozen
from runner.models import Family, Modality, ModelSpec, TensorSpec, catalogue, model_sets

_TASKS: dict[Family, str] = {
    "embedding": "feature-extraction",
    "text_generation": "text-generation",
    "vision": "image-classification",
    "audio": "audio-classification",
    "multimodal": "image-text-to-text",
}


class CustomModel(Frozen):
    """One entry of the file. What it leaves out comes from a published architecture of its size."""

    name: str
    """The name used in matrices and cell ids; none that the catalogue has."""
    family: Family
    """What the model is for."""
    size: str = Field(min_length=1)
    """A published size such as `tiny` or `base`; any word if the rest is all here."""
    modality: Modality
    """What a sample consists of."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Values of the configuration, over those of the published architecture."""
    task: str | None = None
    """The task in Hugging Face's words."""
    architecture: str | None = None
    """The transformers class that builds the model."""
    inputs: tuple[TensorSpec, ...] | None = None
    """The tensors of one query."""
    forward: dict[str, bool] | None = None
    """Constant arguments of the forward pass."""
    labels: TensorSpec | None = None
    """What training compares the outputs with."""
    encoder_decoder: bool | None = None
    """Whether an encoder reads the inputs and a decoder writes the outputs."""
    max_sequence_length: PositiveInt | None = None
    """Most tokens a sample may have."""


def read_models(path: Path) -> dict[str, ModelSpec]:
    """The custom models of a file, by name.

    Raises:
        MatrixError: the file cannot be read, or an entry is wrong or says too little; all at once.
    """
    source = read_source(path)
    if not isinstance(source.data, list) or not source.data:
        message = "must be a list of models, each with name, family, size and modality"
        refuse(source, [Problem((), message)])
    problems: list[Problem] = []
    models: dict[str, ModelSpec] = {}
    taken = {name.casefold() for name in (*catalogue(), *model_sets())}
    for place, entry in enumerate(source.data):
        model = _read(entry, (place,), problems)
        if model is None:
            continue
        if model.name.casefold() in taken:
            problems.append(Problem((place, "name"), f"{model.name!r} is taken already"))
        taken.add(model.name.casefold())
        models[model.name] = model
    refuse(source, problems, hint="docs/matrix.md describes files of custom models")
    return models


def _read(entry: Any, path: tuple[int], problems: list[Problem]) -> ModelSpec | None:
    try:
        custom = CustomModel.model_validate(entry)
        ladder = LADDERS.get((custom.family, custom.modality))
        missing = _missing(custom, ladder)
        if missing:
            problems.append(Problem((*path, "size"), missing))
            return None
        return ModelSpec.model_validate(_completed(custom, ladder))
    except ValidationError as error:
        problems += wordings(error, _keys_at, path)
        return None


def _keys_at(path: tuple[str | int, ...]) -> Iterable[str]:
    tensor = "inputs" in path or "labels" in path
    return TensorSpec.model_fields if tensor else CustomModel.model_fields


def _missing(custom: CustomModel, ladder: Ladder | None) -> str | None:
    if ladder and custom.size in ladder.sizes:
        return None
    absent = [key for key in ("config", "architecture", "inputs") if not getattr(custom, key)]
    if not absent:
        return None
    kind = f"{custom.family} models of {custom.modality}"
    needs = f"add {', '.join(absent)}"
    if ladder is None:
        return f"no published sizes are known for {kind}: {needs}"
    near = did_you_mean(custom.size, ladder.sizes)
    return f"{custom.size!r} is not one of {', '.join(ladder.sizes)} for {kind}{near}; or {needs}"


def _completed(custom: CustomModel, ladder: Ladder | None) -> Config:
    given = custom.model_dump(exclude_none=True, exclude={"size"})
    if ladder is None or custom.size not in ladder.sizes:
        return {"task": _TASKS[custom.family]} | given
    config = ladder.config_of(custom.size) | custom.config
    published = {
        "task": ladder.task,
        "architecture": ladder.architecture,
        "inputs": ladder.inputs(config),
        "labels": ladder.labels(config),
        "forward": dict(ladder.forward),
        "max_sequence_length": config[ladder.longest] if ladder.longest else None,
    }
    return published | given | {"config": config}
