"""Which models a matrix may name: the catalogue's, its sets, and those of files it names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.matrix.model_files import read_models
from orchestrator.matrix.problems import Problem, one_of
from orchestrator.matrix.source import Place, Source
from runner.models import ModelSpec, catalogue, model_sets

FILES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Names:
    """What each name in `axes.model` stands for."""

    models: Mapping[str, ModelSpec]
    """Every model there is, by name."""
    groups: Mapping[str, tuple[str, ...]]
    """The models of each set and each file."""

    def expand(self, name: str) -> tuple[str, ...]:
        """The models that a name stands for."""
        return self.groups.get(name, (name,))


def known_names(source: Source) -> tuple[Names, list[Problem]]:
    """All that the matrix in `source` may name, and the names in it that are nothing.

    Raises:
        MatrixError: a file of custom models is wrong.
    """
    named = [(path, name) for path, name in _named(source.data) if isinstance(name, str)]
    custom = {name: read_models(source.folder / name) for _, name in named if name.endswith(FILES)}
    models, problems = dict(catalogue()), []
    for path, name in named:
        for model, spec in custom.get(name, {}).items():
            if models.setdefault(model, spec) != spec:
                problems.append(Problem(path, f"{model!r} stands in another file too"))
    groups = {**model_sets(), **{file: tuple(specs) for file, specs in custom.items()}}
    allowed = [*models, *model_sets()]
    problems += [
        Problem(path, one_of(name, allowed, f", nor a file ending in {', '.join(FILES)}"))
        for path, name in named
        if name not in models and name not in groups
    ]
    return Names(models, groups), problems


def _named(data: Any) -> Iterator[tuple[Place, Any]]:
    """Every value that stands where a model is named, however wrong the rest of the data is."""
    if not isinstance(data, dict):
        return
    yield from _axis(data, ())
    backends = data.get("backends")
    for backend, table in backends.items() if isinstance(backends, dict) else ():
        yield from _axis(table, ("backends", backend))
    for key in ("include", "exclude"):
        entries = data.get(key)
        for place, entry in enumerate(entries if isinstance(entries, list) else ()):
            if isinstance(entry, dict) and "model" in entry:
                yield (key, place, "model"), entry["model"]


def _axis(table: Any, path: Place) -> Iterator[tuple[Place, Any]]:
    axes = table.get("axes") if isinstance(table, dict) else None
    value = axes.get("model") if isinstance(axes, dict) else None
    for place, name in enumerate(value if isinstance(value, list) else [value]):
        yield (*path, "axes", "model", place), name
