"""Names of models in a matrix: the catalogue's, sets, hub ids, folders, files of custom models."""

from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from pydantic import ValidationError

from orchestrator.matrix.model_config import implied
from orchestrator.matrix.model_files import read_models
from orchestrator.matrix.model_folder import name_of, read_folder
from orchestrator.matrix.unknown_models import MODEL_FILES, is_folder, means_path, unknown_model
from orchestrator.system.plain_data import Location, dotted
from orchestrator.system.problems import Problem, Source, problems_in
from runner.contract.errors import SkipEntry
from runner.contract.models import ModelSpec, catalogue, model_sets


@dataclass(frozen=True)
class Names:
    """The models that each name in `axes.model` stands for."""

    models: Mapping[str, ModelSpec]
    groups: Mapping[str, tuple[str, ...]]
    """The models of each set, hub id, folder and file."""
    notes: tuple[str, ...] = ()

    def expand(self, name: str) -> tuple[str, ...]:
        return self.groups.get(name, (name,))


def known_names(source: Source) -> tuple[Names, list[Problem]]:
    """All that the matrix in `source` may name, and the names in it that are nothing."""
    named = [(path, name) for path, name in _named(source.data) if isinstance(name, str)]
    custom = _Custom(source.folder)
    for path, name in named:
        custom.define(path, name)
    groups, notes = {**model_sets(), **custom.groups}, custom.notes
    for path, name in named:
        if name in custom.models or name in groups or name in custom.refused:
            continue
        if known := published_name(name):
            groups[name] = (known,)
            notes.append(f"{name} is {known} of the catalogue, with random weights")
        else:
            message = unknown_model(name, [*custom.models, *groups], source.folder)
            custom.problems.append(Problem(path, message))
    return Names(custom.models, groups, tuple(notes)), custom.problems


def published_name(name: str) -> str | None:
    """The catalogue's name for a hub id, with or without its owner, or a name in other letters."""
    return _published().get(name.casefold())


@cache
def _published() -> Mapping[str, str]:
    ids = {spec.hub_id.casefold(): name for name, spec in catalogue().items() if spec.hub_id}
    bare = {hub_id.rpartition("/")[2]: name for hub_id, name in ids.items()}
    return {**bare, **ids, **{name.casefold(): name for name in catalogue()}}


def typed_name(model: str) -> str:
    """The word for a measured model in a command; of a folder's path its name alone is known."""
    return model if model in catalogue() else f"PATH/{model}"


class _Custom:
    """The models that files and folders bring, gathered name by name."""

    def __init__(self, folder: Path) -> None:
        named = cast("MutableMapping[str, ModelSpec]", catalogue())
        self.models = ChainMap[str, ModelSpec]({}, named)
        self.groups: dict[str, tuple[str, ...]] = {}
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self.refused: set[str] = set()
        """The names of folders that are no models."""
        self._folder = folder
        self._folders: dict[str, str] = {}
        """The name in the matrix of each folder's model."""

    def define(self, path: Location, name: str) -> None:
        if name in self.models or name in model_sets() or name in self.groups:
            return
        is_path = means_path(name) or published_name(name) is None
        if is_path and is_folder(self._folder, name):
            try:
                self._add_folder(name)
            except SkipEntry as error:
                if name not in self.refused:
                    self.problems.append(Problem(path, str(error)))
                self.refused.add(name)
        elif name.endswith(MODEL_FILES):
            specs = read_models(self._folder / name)
            for model, spec in specs.items():
                if self.models.setdefault(model, spec).content != spec.content:
                    self.problems.append(Problem(path, f"{model!r} stands in another file too"))
            self.groups[name] = tuple(specs)

    def _add_folder(self, name: str) -> None:
        spec, reason = folder_model(self._folder / Path(name).expanduser()), ""
        if spec.name.casefold() in (word.casefold() for word in (*catalogue(), *model_sets())):
            reason = "the catalogue has that name"
        elif self.models.setdefault(spec.name, spec).content != spec.content:
            reason = f"so is {self._folders.get(spec.name, 'a custom model')}"
        if reason:
            raise SkipEntry(
                f"{name!r} would be called {spec.name}, and {reason}: rename the folder, or name a "
                f"link to it (ln -s {name} my-{spec.name})"
            )
        self._folders[spec.name] = name
        self.groups[name] = (spec.name,)
        self.notes.append(described(name, spec))


def folder_model(folder: Path) -> ModelSpec:
    """The model of a folder as a hub gives it, under the folder's name."""
    facts = read_folder(folder)
    try:
        values = facts | implied(facts["config"], {"name": name_of(folder)})
        return ModelSpec.model_validate(values)
    except SkipEntry as error:
        message, key = str(error), error.key
    except ValidationError as error:
        (first, *_) = problems_in(error, lambda _: ())
        message, key = first.message, dotted(first.path)
    raise SkipEntry(
        f"{str(folder)!r}: {key} {message}; give it in a file of custom models, beside "
        "name and path",
        key="path",
    )


def described(name: str, spec: ModelSpec) -> str:
    """A folder in one sentence: its model's family, its class and the origin of its weights."""
    called = "" if Path(name).name == spec.name else f" ({spec.name})"
    size = f" ({spec.parameters:,} parameters)" if spec.parameters else ""
    weights = f"{spec.weights} weights{size}"
    return f"{name}{called}: {spec.family} of {spec.modality}, {spec.architecture}, {weights}"


def _named(data: Any) -> Iterator[tuple[Location, Any]]:
    """Every value at a position where a model is named, also in data that is invalid elsewhere."""
    if not isinstance(data, dict):
        return
    backends = data.get("backends")
    tables: dict[Location, Any] = {(): data}
    for backend, table in backends.items() if isinstance(backends, dict) else ():
        tables["backends", backend] = table
    for path, table in tables.items():
        axes = table.get("axes") if isinstance(table, dict) else None
        value = axes.get("model") if isinstance(axes, dict) else None
        for position, name in enumerate(value if isinstance(value, list) else [value]):
            yield (*path, "axes", "model", position), name
    for key in ("include", "exclude"):
        entries = data.get(key)
        for position, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and "model" in entry:
                yield (key, position, "model"), entry["model"]
