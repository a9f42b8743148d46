"""Files of custom models in YAML or JSON: of a published size, of a folder, or written out."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PositiveInt, ValidationError

from orchestrator.matrix.heads import family_word
from orchestrator.matrix.model_config import implied
from orchestrator.matrix.model_folder import Weights, read_folder
from orchestrator.matrix.model_types import unknown_type
from orchestrator.matrix.signatures import Config, forward_of, whole_number
from orchestrator.matrix.size_presets import LADDERS, Ladder
from orchestrator.matrix.unknown_models import unknown_model
from orchestrator.system.problems import (
    Problem,
    Source,
    problems_in,
    quote,
    raise_problems,
    read_source,
)
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

_NAME = "name"
_CLAIMS = ("family", "modality")
"""Claims that an entry may make beside, and that must hold."""


def is_origin_object(data: Any) -> bool:
    """True for an object whose values all name a model and hold no configuration."""
    return (
        isinstance(data, dict)
        and bool(data)
        and all(
            isinstance(entry, dict) and _NAME in entry and "config" not in entry
            for entry in data.values()
        )
    )


def origin_models(
    data: Mapping[str, Mapping[str, Any]], folder: Path, problems: list[Problem]
) -> Iterator[ModelSpec]:
    """The models under their own names; what is wrong joins the problems."""
    known = {name: spec for spec in catalogue().values() for name in _names(spec)}
    for own, entry in data.items():
        named = entry[_NAME]
        spec = known.get(named) if isinstance(named, str) else None
        if spec is None:
            sentence = unknown_model(str(named), [*catalogue()], folder)
            problems.append(Problem((own, _NAME), sentence))
            continue
        wrong = [*_contradictions(own, entry, spec)]
        problems += wrong
        if not wrong:
            yield spec if own == spec.name else spec.model_copy(update={"name": own})


def _names(spec: ModelSpec) -> Iterator[str]:
    """The names that mean this model: its own, its hub's id, and that without the owner."""
    yield spec.name
    if spec.hub_id:
        yield spec.hub_id
        yield spec.hub_id.rpartition("/")[2]


def _contradictions(own: str, entry: Mapping[str, Any], spec: ModelSpec) -> Iterator[Problem]:
    for key in _CLAIMS:
        said, is_so = entry.get(key), getattr(spec, key)
        word = family_word(said) if key == "family" and isinstance(said, str) else said
        if said is not None and word != is_so:
            message = f"is {quote(said)}, and {spec.name} is {is_so}"
            yield Problem((own, key), message)


_HINT = (
    "an entry needs name and path, of a folder with config.json; or name, family, modality and "
    "size; or name, config, architecture and inputs"
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
    family: Annotated[Family, BeforeValidator(family_word)] | None = None
    """The purpose of the model; follows from a configuration that is whole."""
    modality: Modality | None = None
    """The content of a sample; follows from a configuration that is whole."""
    weights: Weights | None = None
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
    """An entry with random weights. What it leaves out comes from a published architecture.

    Without `size` it comes from its own `config`.
    """

    size: str | None = Field(default=None, min_length=1)
    """A published size such as `tiny` or `base`; any word if the rest is all here."""


class FoundModel(_Described):
    """An entry with a folder, or a hub's id. What it leaves out comes from the files there."""

    path: str | None = None
    """Folder of the model, relative to the file."""
    hub_id: str | None = None
    """The id under which a hub has them; then `config` says what its config.json does."""
    revision: str | None = None
    """The hub's commit or branch."""


def read_models(path: Path) -> dict[str, ModelSpec]:
    """The custom models of a file, by name."""
    source = read_source(path, plain=True)
    if is_origin_object(source.data):
        return _of_origin(source)
    if not isinstance(source.data, list) or not source.data:
        message = "must be a list of models, each with name, family, size and modality"
        if isinstance(source.data, dict) and "model_type" in source.data:
            message = f"is the configuration of a model: name its folder, {path.parent}/"
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
    raise_problems(source, problems, hint=_HINT)
    return models


def _of_origin(source: Source) -> dict[str, ModelSpec]:
    """The models of an object of the origin's; a name that means another model here is refused."""
    problems: list[Problem] = []
    models = {}
    for model in origin_models(source.data, source.folder, problems):
        known = catalogue().get(model.name)
        if model.name in model_sets() or (known is not None and known is not model):
            problems.append(Problem((model.name,), f"{model.name!r} is taken already"))
        models[model.name] = model
    raise_problems(source, problems, hint="`orchestrator models list` shows what is bundled here")
    return models


def _read(entry: Any, folder: Path, path: tuple[int], problems: list[Problem]) -> ModelSpec | None:
    kind = FoundModel if _lies_somewhere(entry) else CustomModel
    try:
        described = kind.model_validate(entry)
        values = (
            _of_files(described, folder)
            if isinstance(described, FoundModel)
            else _completed(described)
        )
        return ModelSpec.model_validate(values)
    except ValidationError as error:
        problems += problems_in(error, partial(_keys_at, kind), path)
    except SkipEntry as error:
        keys = () if error.key is None else (error.key,)
        problems.append(Problem((*path, *keys), str(error)))
    return None


def _lies_somewhere(entry: Any) -> bool:
    if not isinstance(entry, dict):
        return False
    return entry.get("weights") == "pretrained" or "path" in entry or "hub_id" in entry


def _keys_at(kind: type[_Described], path: tuple[str | int, ...]) -> Iterable[str]:
    if "inputs" in path or "labels" in path:
        return TensorSpec.model_fields
    if path[-1:] in {("image_size",), ("audio_seconds",)}:
        return AxisRange.model_fields
    return kind.model_fields


def _of_files(entry: FoundModel, folder: Path) -> Config:
    """The model of a folder, or of a hub whose config.json the entry repeats."""
    given = entry.model_dump(exclude_none=True, exclude={"config", "path"})
    if (entry.path is None) == (entry.hub_id is None):
        raise SkipEntry("pretrained weights take a path or a hub_id, one of them", key="weights")
    if entry.hub_id is not None:
        if not isinstance(entry.config.get("model_type"), str):
            message = "is required beside hub_id: what its config.json says, model_type among it"
            raise SkipEntry(message, key="config")
        _require_known_type(entry.config)
        whole = {"weights": "pretrained", "config": entry.config}
        return whole | implied(entry.config, given)
    if entry.config or entry.revision:
        key = "config" if entry.config else "revision"
        raise SkipEntry("is for weights of a hub: with path it comes from the folder", key=key)
    facts = read_folder(folder / str(entry.path), entry.weights)
    return facts | implied(facts["config"], given)


def _completed(custom: CustomModel) -> Config:
    """The model of a published size, of a configuration, or of all that the entry says."""
    given = custom.model_dump(exclude_none=True, exclude={"size", "config"})
    if custom.size is None:
        if not custom.config:
            raise SkipEntry("needs the path of a folder, or family, modality and size, or config")
        _require_known_type(custom.config)
        return {"config": custom.config} | implied(custom.config, _usual_class(custom) | given)
    family, modality = _require(custom, "family", "modality")
    ladder = LADDERS.get((family, modality))
    if missing := _missing(custom, ladder):
        raise SkipEntry(missing, key="size")
    given |= {"config": custom.config}
    if ladder is None or custom.size not in ladder.sizes:
        _require_known_type(custom.config)
        return {"task": _TASKS[family]} | given
    return _published(custom, ladder, given)


def _usual_class(custom: CustomModel) -> Config:
    """The class for such models where a configuration names none."""
    if not custom.family or not custom.modality or "architectures" in custom.config:
        return {}
    ladder = LADDERS.get((custom.family, custom.modality))
    return {"architecture": ladder.architecture} if ladder else {}


def _require_known_type(config: Config) -> None:
    if fault := unknown_type(config):
        raise SkipEntry(fault, key="config")


def _require(custom: CustomModel, *keys: str) -> list[Any]:
    absent = [key for key in keys if getattr(custom, key) is None]
    if absent:
        raise SkipEntry("is required", key=absent[0])
    return [getattr(custom, key) for key in keys]


def _missing(custom: CustomModel, ladder: Ladder | None) -> str | None:
    if ladder and custom.size in ladder.sizes:
        return _foreign(custom, ladder)
    absent = [key for key in ("config", "architecture", "inputs") if not getattr(custom, key)]
    if not absent:
        return None
    kind = f"{custom.family} models of {custom.modality}"
    needs = f"add {', '.join(absent)}"
    if ladder is None:
        return f"no published sizes are known for {kind}: {needs}"
    near = suggest(custom.size, ladder.sizes)
    return f"{custom.size!r} is not one of {', '.join(ladder.sizes)} for {kind}{near}; or {needs}"


def _foreign(custom: CustomModel, ladder: Ladder) -> str | None:
    """The refusal of a published size for an architecture that is another."""
    kind = custom.config.get("model_type")
    if kind in (None, ladder.config["model_type"]):
        return None
    _require_known_type(custom.config)
    remedy = "leave it out" if custom.inputs else "leave it out and add inputs"
    return f"{custom.size} is {ladder.name}'s, and this is a {kind}: {remedy}"


def _published(custom: CustomModel, ladder: Ladder, given: Config) -> Config:
    config = ladder.config_of(str(custom.size)) | custom.config
    published: Config = {
        "task": ladder.task,
        "architecture": ladder.architecture,
        "forward": forward_of(ladder.architecture),
    }
    if "inputs" not in given:
        published["inputs"] = ladder.signature.inputs(config)
    if "labels" not in given:
        published["labels"] = ladder.signature.labels[ladder.architecture](config)
    if "max_sequence_length" not in given and ladder.longest:
        longest = whole_number(config, ladder.longest, "max_sequence_length")
        published["max_sequence_length"] = longest
    return published | given | {"config": config}
