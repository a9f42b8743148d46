"""Finds models by name. Each lies in a file of its own: `configs/<name>.json`."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from runner.contract.errors import UnknownModel, suggest
from runner.contract.models.spec import ModelSpec


@cache
def catalogue() -> Mapping[str, ModelSpec]:
    """Every bundled model, by name, in alphabetical order."""
    configs = files("runner.contract.models") / "configs"
    paths = sorted(configs.iterdir(), key=lambda path: path.name.removesuffix(".json"))
    specs = (ModelSpec.model_validate_json(path.read_bytes()) for path in paths)
    return MappingProxyType({spec.name: spec for spec in specs})


@cache
def model_sets() -> Mapping[str, tuple[str, ...]]:
    """The named sets of models, e.g. `key` and `small`."""
    text = (files("runner.contract.models") / "sets.json").read_text("utf-8")
    return MappingProxyType({name: tuple(models) for name, models in json.loads(text).items()})


def find(name: str) -> ModelSpec:
    """The model of that name.

    Raises:
        UnknownModel: the catalogue holds no such name; the message offers the nearest ones.
    """
    models = catalogue()
    if name in models:
        return models[name]
    if name in model_sets():
        hint = f"`orchestrator models list --set {name}` shows its models"
        raise UnknownModel(f"{name} is a set of models", hint=hint)
    guess = suggest(name, models)
    listed = f"{len(models)} models: orchestrator models list"
    raise UnknownModel(f"no model {name!r}{guess} ({listed})")
