"""Files of custom models in YAML or JSON: of a published size, of a folder, or written out.

Sources of the sizes: BERT and its miniatures (Devlin 2018, Turc 2019); GPT-2 (Radford 2019), below
it DistilGPT2 and, at BERT's miniature dimensions, tiny and mini; ViT (Dosovitskiy 2020) and DeiT
(Touvron 2020).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PositiveInt, ValidationError

from orchestrator.matrix.model_config import family_word, implied
from orchestrator.matrix.model_folder import Weights, read_folder
from orchestrator.matrix.signatures import IMAGE, TEXT, Config, Signature, forward_of, whole_number
from orchestrator.matrix.unknown_models import unknown_model, unknown_type
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


@dataclass(frozen=True)
class _Ladder:
    """One architecture in its published sizes."""

    name: str
    task: str
    architecture: str
    config: Config
    dimensions: tuple[str, ...]
    """The configuration keys that differ between sizes."""
    sizes: Mapping[str, tuple[int, ...]]
    longest: str | None
    """The configuration key that limits the sequence length."""
    signature: Signature


_ENCODER = ("num_hidden_layers", "hidden_size", "num_attention_heads", "intermediate_size")

_LADDERS: Mapping[tuple[Family, Modality], _Ladder] = {
    ("embedding", "text"): _Ladder(
        name="BERT",
        task="fill-mask",
        architecture="AutoModelForMaskedLM",
        config={"model_type": "bert", "vocab_size": 30522, "max_position_embeddings": 512},
        dimensions=_ENCODER,
        sizes={
            "tiny": (2, 128, 2, 512),
            "mini": (4, 256, 4, 1024),
            "small": (4, 512, 8, 2048),
            "medium": (8, 512, 8, 2048),
            "base": (12, 768, 12, 3072),
            "large": (24, 1024, 16, 4096),
        },
        longest="max_position_embeddings",
        signature=TEXT,
    ),
    ("text_generation", "text"): _Ladder(
        name="GPT-2",
        task="text-generation",
        architecture="AutoModelForCausalLM",
        config={"model_type": "gpt2", "vocab_size": 50257, "n_positions": 1024},
        dimensions=("n_layer", "n_embd", "n_head"),
        sizes={
            "tiny": (2, 128, 2),
            "mini": (4, 256, 4),
            "small": (6, 768, 12),
            "base": (12, 768, 12),
            "medium": (24, 1024, 16),
            "large": (36, 1280, 20),
        },
        longest="n_positions",
        signature=TEXT,
    ),
    ("vision", "image"): _Ladder(
        name="ViT",
        task="image-classification",
        architecture="AutoModelForImageClassification",
        config={
            "model_type": "vit",
            "image_size": 224,
            "patch_size": 16,
            "num_channels": 3,
            "num_labels": 1000,
        },
        dimensions=_ENCODER,
        sizes={
            "tiny": (12, 192, 3, 768),
            "small": (12, 384, 6, 1536),
            "base": (12, 768, 12, 3072),
            "large": (24, 1024, 16, 4096),
        },
        longest=None,
        signature=IMAGE,
    ),
}


class _Described(Frozen):
    """The keys of any entry of the file; those that it leaves out follow from the rest."""

    name: str
    """The name used in matrices and cell ids; none that the catalogue has."""
    family: Annotated[Family, BeforeValidator(family_word)] | None = None
    modality: Modality | None = None
    weights: Weights | None = None
    """The origin of the parameters: drawn with a seed, or read from a folder or a hub."""
    config: dict[str, Any] = Field(default_factory=dict)
    """Values of the configuration, over those of the published architecture."""
    task: str | None = None
    architecture: str | None = None
    inputs: tuple[TensorSpec, ...] | None = None
    forward: dict[str, bool] | None = None
    labels: TensorSpec | None = None
    encoder_decoder: bool | None = None
    max_sequence_length: PositiveInt | None = None
    image_size: AxisRange | None = None
    """Height and width that images may have, pixels."""
    audio_seconds: AxisRange | None = None


class CustomModel(_Described):
    """An entry with random weights: of a published size, else of its own `config`."""

    size: str | None = Field(default=None, min_length=1)


class FoundModel(_Described):
    """An entry with a folder, or a hub's id. What it leaves out comes from the files there."""

    path: str | None = None
    hub_id: str | None = None
    """The id under which a hub has them; then `config` says what its config.json does."""
    revision: str | None = None


def read_models(path: Path) -> dict[str, ModelSpec]:
    source = read_source(path, plain=True)
    if _is_origin_object(source.data):
        return _origin_models(source)
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


def _is_origin_object(data: Any) -> bool:
    """True for an object of the origin's: its values all name a model and hold no configuration."""
    entries = list(data.values()) if isinstance(data, dict) else []
    return bool(entries) and all(
        isinstance(entry, dict) and "name" in entry and "config" not in entry for entry in entries
    )


def _origin_models(source: Source) -> dict[str, ModelSpec]:
    """The models under their own names; a name that means another model here is refused."""
    problems: list[Problem] = []
    models = {}
    bundled = {name: spec for spec in catalogue().values() for name in _names(spec)}
    for own, entry in source.data.items():
        named = entry["name"]
        spec = bundled.get(named) if isinstance(named, str) else None
        if spec is None:
            sentence = unknown_model(str(named), [*catalogue()], source.folder)
            problems.append(Problem((own, "name"), sentence))
            continue
        wrong = []
        for key in ("family", "modality"):  # claims that must hold
            claim, actual = entry.get(key), getattr(spec, key)
            if claim is not None and (family_word(claim) if key == "family" else claim) != actual:
                message = f"is {quote(claim)}, and {spec.name} is {actual}"
                wrong.append(Problem((own, key), message))
        if own in model_sets() or catalogue().get(own, spec) is not spec:
            wrong = wrong or [Problem((own,), f"{own!r} is taken already")]
        problems += wrong
        models[own] = spec if own == spec.name else spec.model_copy(update={"name": own})
    raise_problems(source, problems, hint="`orchestrator models list` shows what is bundled here")
    return models


def _names(spec: ModelSpec) -> Iterable[str]:
    """The names that mean this model: its own, its hub's id, and that without the owner."""
    return (spec.name, *((spec.hub_id, spec.hub_id.rpartition("/")[2]) if spec.hub_id else ()))


def _read(entry: Any, folder: Path, path: tuple[int], problems: list[Problem]) -> ModelSpec | None:
    lies_somewhere = isinstance(entry, dict) and (
        entry.get("weights") == "pretrained" or "path" in entry or "hub_id" in entry
    )
    kind = FoundModel if lies_somewhere else CustomModel
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


def _keys_at(kind: type[_Described], path: tuple[str | int, ...]) -> Iterable[str]:
    if "inputs" in path or "labels" in path:
        return TensorSpec.model_fields
    if path[-1:] in {("image_size",), ("audio_seconds",)}:
        return AxisRange.model_fields
    return kind.model_fields


def _of_files(entry: FoundModel, folder: Path) -> Config:
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
    given = custom.model_dump(exclude_none=True, exclude={"size", "config"})
    family, modality = custom.family, custom.modality
    ladder = _LADDERS.get((family, modality)) if family and modality else None
    if custom.size is None:
        if not custom.config:
            raise SkipEntry("needs the path of a folder, or family, modality and size, or config")
        _require_known_type(custom.config)
        if ladder and "architectures" not in custom.config:
            given = {"architecture": ladder.architecture} | given
        return {"config": custom.config} | implied(custom.config, given)
    if family is None or modality is None:
        raise SkipEntry("is required", key="family" if family is None else "modality")
    if missing := _missing(custom, ladder):
        raise SkipEntry(missing, key="size")
    if ladder is None or custom.size not in ladder.sizes:
        _require_known_type(custom.config)
        return {"task": _TASKS[family], **given, "config": custom.config}
    return _published(custom, ladder, given)


def _require_known_type(config: Config) -> None:
    if fault := unknown_type(config):
        raise SkipEntry(fault, key="config")


def _missing(custom: CustomModel, ladder: _Ladder | None) -> str | None:
    """The refusal of a size that is not published, or is another architecture's."""
    if ladder and custom.size in ladder.sizes:
        kind = custom.config.get("model_type")
        if kind in (None, ladder.config["model_type"]):
            return None
        _require_known_type(custom.config)
        remedy = "leave it out" if custom.inputs else "leave it out and add inputs"
        return f"{custom.size} is {ladder.name}'s, and this is a {kind}: {remedy}"
    absent = [key for key in ("config", "architecture", "inputs") if not getattr(custom, key)]
    if not absent:
        return None
    kind = f"{custom.family} models of {custom.modality}"
    needs = f"add {', '.join(absent)}"
    if ladder is None:
        return f"no published sizes are known for {kind}: {needs}"
    near = suggest(str(custom.size), ladder.sizes)
    return f"{custom.size!r} is not one of {', '.join(ladder.sizes)} for {kind}{near}; or {needs}"


def _published(custom: CustomModel, ladder: _Ladder, given: Config) -> Config:
    size = zip(ladder.dimensions, ladder.sizes[str(custom.size)], strict=True)
    config = ladder.config | dict(size) | custom.config
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
