"""Finds models by name. Each lies in a file of its own: `configs/<name>.json`."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType

from runner.contract.errors import UnknownModel, suggest
from runner.contract.models.spec import ModelSpec


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
    """The named sets of models, e.g. `key` and `small`."""
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
