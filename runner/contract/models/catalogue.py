"""Finds models by name. Each lies in a file of its own: `configs/<name>.json`."""

import json
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from runner.contract.errors import UnknownModel, closest
from runner.contract.models.spec import ModelSpec


@cache
def catalogue() -> Mapping[str, ModelSpec]:
    """Every bundled model, by name, in alphabetical order."""
    configs = files("runner.contract.models") / "configs"
    paths = sorted((path for path in configs.iterdir()), key=lambda path: path.name)
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
        UnknownModel: the catalogue holds no such name; the hint offers the nearest ones.
    """
    models = catalogue()
    if name in models:
        return models[name]
    near = closest(name, models, count=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "see `orchestrator models list`"
    raise UnknownModel(f"{name!r} is not one of {', '.join(models)}", hint=hint)
