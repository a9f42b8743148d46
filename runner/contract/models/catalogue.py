"""Descriptions of models, their catalogue (`configs/<name>.json`), and their own weights."""

import json
import os
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PositiveInt, model_validator
from pydantic_core import from_json

from runner.contract.cell import ModelName
from runner.contract.errors import UnknownModel, suggest

CONFIG_FILE = "config.json"
WEIGHTS_SUFFIX = ".safetensors"
"""The one format that is read: it holds numbers alone, where pickles hold code."""
WEIGHTS_VARIABLE = "ACCELMATRIX_WEIGHTS"
"""Names the folder that the launcher shows; processes that this one starts see it too."""
LARGEST_SIZE = 10**12
"""The largest number that a description may hold: beyond it no tensor could be made."""
SizeNumber = Annotated[PositiveInt, Field(le=LARGEST_SIZE)]

FixedName = Literal["image_size", "audio_seconds", "frames"]
ImageSize = Literal["prompt_length", "image_tokens", "image_crops", "image_patches", "image_grid"]
"""Sizes that follow from that of an image in a prompt, see `image_tokens`."""
SizeName = Literal["batch_size", "sequence_length"] | FixedName | ImageSize
# fmt: off
TensorKind = Literal[
    "token_ids", "prompt_ids", "prompt_labels", "image_mask", "rows", "boxes", "ones", "false",
    "normal",
]
# fmt: on


class TensorSpec(BaseModel):
    """One input tensor, synthesised from this description and a seed."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: str
    """The argument's name in the model's forward pass."""
    kind: TensorKind
    """`token_ids`: int64 drawn from [low, high); `prompt_ids`: the same around the tokens of an
    image; `prompt_labels`: the same, -100 where the image is; `image_mask`: int32, 1 where the
    image is; `rows`: int64, each row the `values`; `boxes`: float32, each row a class drawn from
    [low, high) and centre, width and height within 0 and 1; `ones`: int64 ones; `false`: bool;
    `normal`: float32 N(0, 1)."""
    shape: tuple[SizeNumber | SizeName | tuple[SizeNumber | SizeName, ...], ...]
    """Sizes; a name stands for the cell's value of that axis, a list for the product of its
    members, such as `[16000, "audio_seconds"]`."""
    low: int = 0
    """Lowest token id, or class."""
    high: SizeNumber | None = None
    """One past the highest token id, or class; required where some are drawn."""
    last: int | None = None
    """Token id at the end of each row of `token_ids`; null leaves it as drawn."""
    values: tuple[SizeNumber | SizeName, ...] = ()
    """The values of each row; required for `rows`."""

    @property
    def sizes(self) -> frozenset[SizeName]:
        names = chain.from_iterable(self.dimensions)
        return frozenset(name for name in names if isinstance(name, str))

    @property
    def dimensions(self) -> tuple[tuple[SizeNumber | SizeName, ...], ...]:
        return tuple(size if isinstance(size, tuple) else (size,) for size in self.shape)


Family = Literal["embedding", "text_generation", "vision", "audio", "multimodal"]
Modality = Literal["text", "image", "audio", "video", "multimodal"]
ImagePrompt = Literal["anyres", "grid"]
_CONTENT: Mapping[str, Modality] = {
    "input_ids": "text",
    "pixel_values": "image",
    "input_features": "audio",
    "input_values": "audio",
}


class AxisRange(BaseModel):
    """The values that a model takes on one axis; without a most, memory is the limit."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    default: SizeNumber  # the value where a matrix names none
    least: SizeNumber = 1
    most: SizeNumber | None = None
    multiple_of: SizeNumber = 1  # the number of which every value must be a multiple


MODEL_LABELS = frozenset({"name", "path", "saved_by_transformers"})
"""Fields of a model that say nothing of what it computes."""
_NOTED = ("_name_or_path", "transformers_version")
"""Keys that transformers adds to a configuration, and to those within it, when it saves one."""


class ModelSpec(BaseModel):
    """A model of the catalogue, or a custom one.

    Its identity is its `content`: a folder that was copied, renamed, split into other files or
    saved again by another version of transformers holds the same model.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    name: ModelName
    family: Family
    task: str
    """The task in Hugging Face's words, e.g. `fill-mask`."""
    modality: Modality
    architecture: str
    """The transformers class that builds the model, e.g. `AutoModelForMaskedLM`."""
    config: dict[str, Any]
    """The bundled configuration; `model_type` names the architecture's configuration class."""
    inputs: tuple[TensorSpec, ...] = Field(min_length=1)
    forward: dict[str, bool] = Field(default_factory=dict)
    """Constant arguments of the forward pass."""
    labels: TensorSpec | None = None
    """The tensor that training compares the outputs with; null for models not trained so here."""
    contrastive: bool = False
    """True if training compares the samples of a batch with one another, instead of with labels."""
    encoder_decoder: bool = False
    """True if an encoder reads the inputs and a decoder writes the outputs."""
    image_prompt: ImagePrompt | None = None
    """The way in which an image becomes tokens of the prompt: `anyres` crops it (LLaVA), `grid`
    cuts patches (Qwen-VL); null where it doesn't. The numbers come from the configuration."""
    max_sequence_length: SizeNumber | None = None
    """Most tokens a sample may have, an image's among them; null for models that take no text."""
    max_new_tokens: SizeNumber | None = None
    """Most tokens that a decoder behind an encoder can generate; null without such a limit."""
    image_size: AxisRange | None = None
    audio_seconds: AxisRange | None = None
    fixed: dict[FixedName, SizeNumber] = Field(default_factory=dict)
    """Sizes that the model takes at this one value: pixels, seconds, frames of a video."""
    parameters: Annotated[PositiveInt, Field(le=10**15)] | None = None
    """The published number of parameters, a micro model's as counted; null for custom models."""
    hub_id: str | None = None
    weights: Literal["random", "pretrained"] = "random"
    """True if parameters are drawn with a seed, or read from a folder or a hub."""
    path: str | None = None
    revision: str | None = None
    """The weights' revision: `sha256:…` of a folder's tensors, or a hub's commit or branch."""
    licence: str | None = None
    saved_by_transformers: bool = False
    """True if transformers wrote the configuration, which may then hold keys of older versions."""

    @model_validator(mode="before")
    @classmethod
    def _without_notes(cls, data: Any) -> Any:
        """Take out of the configuration what transformers noted there when it saved it."""
        if not isinstance(data, dict) or not isinstance(config := data.get("config"), dict):
            return data
        saved = {"saved_by_transformers": True} if _NOTED[1] in config else {}
        return {**data, **saved, "config": _plain(config)}

    @property
    def content(self) -> str:
        """All that decides what it computes, as JSON in one order of keys."""
        facts = self.model_dump(mode="json", exclude=set(MODEL_LABELS))
        return json.dumps(facts, sort_keys=True, ensure_ascii=False)

    @classmethod
    def of_content(cls, content: str, labels: Mapping[str, Any]) -> Self:
        """The model of this content, labelled; ValueError if there is none like it."""
        own = {name: value for name, value in labels.items() if name in MODEL_LABELS}
        facts = from_json(content)
        return cls.model_validate(facts | own if isinstance(facts, dict) else facts)

    @property
    def takes_sequence(self) -> bool:
        """True if the sequence length changes what this model computes."""
        return any(tensor.sizes & {"sequence_length", "prompt_length"} for tensor in self.inputs)

    @property
    def contents(self) -> frozenset[Modality]:
        """The kinds of content that a sample holds, each of a multimodal one among them."""
        if self.family != "multimodal":
            return frozenset({self.modality})
        parts = (_CONTENT[tensor.name] for tensor in self.inputs if tensor.name in _CONTENT)
        return frozenset((self.modality, *parts))

    @property
    def trains(self) -> bool:
        """True if there is something that training could compare the outputs with."""
        return self.labels is not None or self.contrastive


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if key not in _NOTED}
    return [_plain(item) for item in value] if isinstance(value, list) else value


class _Catalogue(Mapping[str, ModelSpec]):
    """Models by name; each is read when it is looked at, since most commands name one or two."""

    def __init__(self, paths: Mapping[str, Traversable]) -> None:
        self._paths = paths
        self._specs: dict[str, ModelSpec] = {}

    def __getitem__(self, name: str) -> ModelSpec:
        if name not in self._specs:
            self._specs[name] = ModelSpec.model_validate_json(self._paths[name].read_bytes())
        return self._specs[name]

    def __contains__(self, name: object) -> bool:
        return name in self._paths

    def __iter__(self) -> Iterator[str]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


@cache
def catalogue() -> Mapping[str, ModelSpec]:
    """Every bundled model, by name, in alphabetical order."""
    configs = files("runner.contract.models") / "configs"
    paths = {path.name.removesuffix(".json"): path for path in configs.iterdir()}
    return _Catalogue(dict(sorted(paths.items())))


@cache
def model_sets() -> Mapping[str, tuple[str, ...]]:
    text = (files("runner.contract.models") / "sets.json").read_text("utf-8")
    return MappingProxyType({name: tuple(models) for name, models in json.loads(text).items()})


def find(name: str) -> ModelSpec:
    models = catalogue()
    if name in models:
        return models[name]
    if name in model_sets():
        hint = f"`orchestrator models list --set {name}` shows its models"
        raise UnknownModel(f"{name} is a set of models", hint=hint)
    guess = suggest(name, models)
    listed = f"{len(models)} models: orchestrator models list"
    raise UnknownModel(f"no model {name!r}{guess} ({listed})")


def show_folder(folder: Path) -> None:
    """From now on the weights of this process' model lie there."""
    os.environ[WEIGHTS_VARIABLE] = str(folder)


def folder_of(model: ModelSpec) -> Path | None:
    """The folder of the model's weights for this process; None if they come from a hub."""
    if model.path is None:
        return None
    return Path(os.environ.get(WEIGHTS_VARIABLE) or model.path)
