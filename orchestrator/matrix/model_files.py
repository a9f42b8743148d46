"""Files of custom models in YAML or JSON: of a published size, or with pretrained weights."""

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, PositiveInt, ValidationError

from orchestrator.matrix.pretrained import implied, read_folder
from orchestrator.matrix.size_presets import LADDERS, Config, Ladder, whole_number
from orchestrator.system.problems import Problem, problems_in, raise_problems
from orchestrator.system.yaml_file import read_source
from runner.contract.cell import Frozen
from runner.contract.errors import SkipEntry, suggest
from runner.contract.models import (
    AxisRange,
    Family,
    Modality,
    ModelSpec,
    TensorSpec,
    catalogue,
    model_sets,
)

_TASKS: dict[Family, str] = {
    "embedding": "feature-extraction",
    "text_generation": "text-generation",
    "vision": "image-classification",
    "audio": "audio-classification",
    "multimodal": "image-text-to-text",
}


class _Described(Frozen):
    """The keys of any entry of the file."""

    name: str
    """The name used in matrices and cell ids; none that the catalogue has."""
    family: Family
    """The purpose of the model."""
    modality: Modality
    """The content of a sample."""
    weights: Literal["random", "pretrained"] = "random"
    """The origin of the parameters: drawn with a seed, or read from a folder or a hub."""
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
    """The tensor that training compares the outputs with."""
    encoder_decoder: bool | None = None
    """True if an encoder reads the inputs and a decoder writes the outputs."""
    max_sequence_length: PositiveInt | None = None
    """Most tokens a sample may have."""
    image_size: AxisRange | None = None
    """Height and width that images may have, pixels."""
    audio_seconds: AxisRange | None = None
    """Seconds that a sound may have."""


class CustomModel(_Described):
    """An entry with random weights. What it leaves out comes from a published architecture."""

    size: str = Field(min_length=1)
    """A published size such as `tiny` or `base`; any word if the rest is all here."""


class PretrainedModel(_Described):
    """An entry with pretrained weights. What it leaves out comes from the files beside them."""

    path: str | None = None
    """Folder of the weights, relative to the file."""
    hub_id: str | None = None
    """The id under which a hub has them; then `config` says what its config.json does."""
    revision: str | None = None
    """The hub's commit or branch."""


def read_models(path: Path) -> dict[str, ModelSpec]:
    """The custom models of a file, by name.

    Raises:
        MatrixError: the file cannot be read, or an entry is wrong or says too little; all at once.
    """
    source = read_source(path, plain=True)
    if not isinstance(source.data, list) or not source.data:
        message = "must be a list of models, each with name, family, size and modality"
        raise_problems(source, [Problem((), message)])
    problems: list[Problem] = []
    models: dict[str, ModelSpec] = {}
    taken = {name.casefold() for name in (*catalogue(), *model_sets())}
    for position, entry in enumerate(source.data):
        model = _read(entry, source.folder, (position,), problems)
        if model is None:
            continue
        if model.name.casefold() in taken:
            problems.append(Problem((position, "name"), f"{model.name!r} is taken already"))
        taken.add(model.name.casefold())
        models[model.name] = model
    raise_problems(source, problems, hint="docs/matrix.md describes files of custom models")
    return models


def _read(entry: Any, folder: Path, path: tuple[int], problems: list[Problem]) -> ModelSpec | None:
    pretrained = isinstance(entry, dict) and entry.get("weights") == "pretrained"
    kind = PretrainedModel if pretrained else CustomModel
    try:
        described = kind.model_validate(entry)
        values = (
            _beside_weights(described, folder)
            if isinstance(described, PretrainedModel)
            else _completed(described)
        )
        return ModelSpec.model_validate(values)
    except ValidationError as error:
        problems += problems_in(error, partial(_keys_at, kind), path)
    except SkipEntry as error:
        keys = () if error.key is None else (error.key,)
        problems.append(Problem((*path, *keys), str(error)))
    return None


def _keys_at(kind: type[_Described], path: tuple[str | int, ...]) -> Iterable[str]:
    if "inputs" in path or "labels" in path:
        return TensorSpec.model_fields
    if path[-1:] in {("image_size",), ("audio_seconds",)}:
        return AxisRange.model_fields
    return kind.model_fields


def _beside_weights(entry: PretrainedModel, folder: Path) -> Config:
    """The model of a folder, or of a hub whose config.json the entry repeats."""
    given = entry.model_dump(exclude_none=True, exclude={"config", "path"})
    if (entry.path is None) == (entry.hub_id is None):
        raise SkipEntry("pretrained weights take a path or a hub_id, one of them", key="weights")
    if entry.hub_id is not None:
        if not isinstance(entry.config.get("model_type"), str):
            message = "is required beside hub_id: what its config.json says, model_type among it"
            raise SkipEntry(message, key="config")
        return implied(entry.config, entry.family, entry.modality, given) | {"config": entry.config}
    if entry.config or entry.revision:
        key = "config" if entry.config else "revision"
        raise SkipEntry("is for weights of a hub: with path it comes from the folder", key=key)
    facts = read_folder(folder / str(entry.path))
    return facts | implied(facts["config"], entry.family, entry.modality, given)


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
    near = suggest(custom.size, ladder.sizes)
    return f"{custom.size!r} is not one of {', '.join(ladder.sizes)} for {kind}{near}; or {needs}"


def _completed(custom: CustomModel) -> Config:
    ladder = LADDERS.get((custom.family, custom.modality))
    if missing := _missing(custom, ladder):
        raise SkipEntry(missing, key="size")
    given = custom.model_dump(exclude_none=True, exclude={"size"})
    if ladder is None or custom.size not in ladder.sizes:
        return {"task": _TASKS[custom.family]} | given
    config = ladder.config_of(custom.size) | custom.config
    published: Config = {
        "task": ladder.task,
        "architecture": ladder.architecture,
        "forward": dict(ladder.forward),
    }
    if "inputs" not in given:
        published["inputs"] = ladder.inputs(config)
    if "labels" not in given:
        published["labels"] = ladder.labels(config)
    if "max_sequence_length" not in given and ladder.longest:
        longest = whole_number(config, ladder.longest, "max_sequence_length")
        published["max_sequence_length"] = longest
    return published | given | {"config": config}
