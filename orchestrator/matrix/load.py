"""A matrix file, checked and resolved: a frozen value that nothing else needs to look up."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import ValidationError

from analysis.results.synonyms import axis_of, meaning
from orchestrator.matrix.combine import AxisValue
from orchestrator.matrix.file import (
    BackendTable,
    FleetPlacement,
    MatrixDocument,
    MeasureTable,
    keys_at,
)
from orchestrator.matrix.model_names import Names, known_names
from orchestrator.matrix.values import BACKENDS
from orchestrator.system.plain_data import Location
from orchestrator.system.problems import Problem, Source, problems_in, raise_problems, read_source
from orchestrator.system.text import format_duration
from orchestrator.system.yaml_text import parse_yaml
from runner.contract.axes import AXIS_NAMES, AxisName, Backend
from runner.contract.cell import Frozen
from runner.contract.errors import UsageError
from runner.contract.job import PROFILES, Limits, Measure
from runner.contract.models import ModelSpec

MAX_COMBINATIONS = 1_000_000
_HINT = "`orchestrator plan --schema` describes every key of a matrix file"
_LIMITS = {"cell_timeout": "cell_timeout_s", "memory": "memory_bytes", "output": "output_bytes"}
"""Keys of limits that have other names than their fields."""
ORDERED = (("min_duration", "max_duration"), ("rounds", "iterations"), ("rounds", "max_rounds"))
"""Keys of which the first may not be more than the second."""
Combination = dict[AxisName, AxisValue]
Lists = dict[AxisName, tuple[AxisValue, ...]]


def override(source: Source, overrides: Sequence[str]) -> Source:
    """The source with each `dotted.path=value` in place; commas separate the values of an axis."""
    data, options = source.data, dict(source.options)
    for text in overrides:
        option = f"--set {text}"
        dotted, equals, value = text.partition("=")
        path = _known_path(tuple(dotted.strip().split(".")))
        if not equals or not all(path):
            raise UsageError(
                f"{option}: is not path=value", hint="write for example --set axes.batch_size=1,8"
            )
        data = _placed(data, path, _value(path, value, option), option)
        options[path] = option
    return replace(source, data=data, options=options)


def _known_path(path: tuple[str, ...]) -> tuple[str, ...]:
    """The path with an axis by its key, though it may be in the plural or without `axes.`."""
    axis = axis_of(path[-1])
    if axis is None or (len(path) == 1 and path[0] in MatrixDocument.model_fields):
        return path
    head = path[:-1] or ("axes",)
    return (*head, axis.name) if head[-1] == "axes" else path


def _value(path: Location, text: str, option: str) -> Any:
    if "axes" not in path[:-1]:
        return parse_yaml(text, option)[0]
    written = text.strip()
    if written.startswith("["):
        value, _ = parse_yaml(written, option)
        items = value if isinstance(value, list) else [value]
    else:
        items = [parse_yaml(item, option)[0] for item in written.split(",")]
    axis = axis_of(str(path[-1]))
    return [meaning(axis, item) if axis and isinstance(item, str) else item for item in items]


def _placed(data: Any, path: tuple[str, ...], value: Any, option: str) -> Any:
    if not path:
        return value
    if not isinstance(data, dict | None):
        raise UsageError(f"{option}: {path[0]} lies in something that is not a mapping")
    old = data or {}
    return {**old, path[0]: _placed(old.get(path[0]), path[1:], value, option)}


class FleetUse(Frozen):
    """The use of a fleet that a matrix asks for."""

    placement: FleetPlacement = "any"
    hosts: tuple[str, ...] = ()


class Matrix(Frozen):
    """A matrix with its models, measurement and limits resolved."""

    source: str
    axes: Lists
    """The lists that the matrix names, its model sets and files written out."""
    backend_axes: dict[Backend, Lists]
    """The lists that replace them on one backend."""
    include: tuple[Combination, ...]
    exclude: tuple[Combination, ...]
    models: dict[str, ModelSpec]
    measure: dict[Backend, Measure]
    limits: dict[Backend, Limits]
    fleet: FleetUse = FleetUse()
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        return sum(prod(map(len, lists.values())) for lists in self.products())

    def products(self) -> list[Lists]:
        """The lists whose products, one behind the other, are the original combinations."""
        products: list[Lists] = []
        for name in self.axes.get("backend", ("cpu",)):
            backend = cast("Backend", name)
            lists = self.axes | self.backend_axes.get(backend, {})
            if "backend" in self.axes:
                lists["backend"] = (backend,)
            if lists:
                products.append({axis: lists[axis] for axis in AXIS_NAMES if axis in lists})
        return products


def load_matrix(path: Path, overrides: Sequence[str] = ()) -> Matrix:
    """The matrix of a file, with `--set` overrides such as `axes.batch_size=1,8` in place."""
    return resolve(matrix_source(path, overrides))


def matrix_source(path: Path, overrides: Sequence[str] = ()) -> Source:
    """The document of a matrix file, with `--set` overrides in place, before it is checked."""
    return override(replace(read_source(path), hint=_HINT), overrides)


def resolve(source: Source) -> Matrix:
    if source.data is None:
        raise_problems(source, [Problem((), "is empty")], source.hint)
    names, problems = known_names(source)
    try:
        file = MatrixDocument.model_validate(source.data)
    except ValidationError as error:
        raise_problems(source, [*problems_in(error, keys_at), *problems], source.hint)
        raise
    raise_problems(source, [*problems, *_contradictions(file)])
    matrix = _matrix(source.name, file, names)
    raise_problems(source, list(_flaws(file, matrix)))
    return matrix


def _matrix(name: str, file: MatrixDocument, names: Names) -> Matrix:
    tables = file.backends.items()
    parts = {backend: _lists(table.get("axes", {}), names) for backend, table in tables}
    axes, include = _lists(file.axes, names), _entries(file.include, names)
    lists = [model for part in (axes, *parts.values()) for model in part.get("model", ())]
    named = [*lists, *(entry["model"] for entry in include if "model" in entry)]
    return Matrix(
        source=name,
        axes=axes,
        backend_axes=parts,
        include=include,
        exclude=_entries(file.exclude, names),
        models={str(model): names.models[str(model)] for model in named},
        measure={backend: measure_of(file, backend) for backend in BACKENDS},
        limits={backend: _limits_of(file, backend) for backend in BACKENDS},
        fleet=FleetUse(**file.fleet),
        notes=names.notes,
    )


def measure_of(file: MatrixDocument, backend: Backend) -> Measure:
    """The measure of a backend: its own values over the matrix' over the profile's."""
    given = _given(file, backend, "measure")
    profile = PROFILES[given.pop("profile", "standard")]
    if "rounds" in given and "max_rounds" not in given:  # the profile's own may be fewer
        given["max_rounds"] = max(given["rounds"], profile.most_rounds)
    return profile.model_copy(update={field_name(key): value for key, value in given.items()})


def _limits_of(file: MatrixDocument, backend: Backend) -> Limits:
    given = _given(file, backend, "limits").items()
    return Limits.model_validate({_LIMITS.get(key, key): value for key, value in given})


def _given(
    file: MatrixDocument, backend: Backend, table: Literal["measure", "limits"]
) -> dict[str, Any]:
    own: Mapping[str, Any] = file.backends.get(backend, BackendTable())
    return {**getattr(file, table), **own.get(table, {})}


def field_name(key: str) -> str:
    """The field of a measure that a key of the file sets."""
    return key.replace("_duration", "_s")


def _contradictions(file: MatrixDocument) -> Iterator[Problem]:
    tables: dict[Location, tuple[MeasureTable, Measure]] = {
        ("backends", name, "measure"): (table["measure"], measure_of(file, name))
        for name, table in file.backends.items()
        if "measure" in table
    }
    plain = file.model_copy(update={"backends": {}})
    tables["measure",] = (file.measure, measure_of(plain, "cpu"))
    for location, (table, measure) in tables.items():
        for less, more in ORDERED:
            least, most = (getattr(measure, field_name(key)) for key in (less, more))
            if most is None or least <= most:
                continue
            shown = {less: key_value_text(less, least), more: key_value_text(more, most)}
            blamed, other = (less, more) if less in table else (more, less)
            relation = "more" if blamed == less else "less"
            message = f"{shown[blamed]} is {relation} than {other}, {shown[other]} with profile"
            yield Problem((*location, blamed), f"{message} {measure.profile}")


def key_value_text(key: str, value: float) -> str:
    """The value of a key in the form in which a file takes it."""
    return format_duration(value) if key.endswith("duration") else f"{value:g}"


def _lists(axes: Mapping[AxisName, Any], names: Names) -> Lists:
    lists: Lists = {axis: axes[axis] for axis in AXIS_NAMES if axis in axes}
    if "model" in lists:
        models = (model for name in lists["model"] for model in names.expand(str(name)))
        lists["model"] = tuple(dict.fromkeys(models))
    return lists


def _entries(entries: Sequence[Mapping[AxisName, Any]], names: Names) -> tuple[Combination, ...]:
    written_out: list[Combination] = []
    for entry in entries:
        given: Combination = {axis: entry[axis] for axis in AXIS_NAMES if axis in entry}
        if "model" in given:
            written_out += [given | {"model": model} for model in names.expand(entry["model"])]
        else:
            written_out.append(given)
    return tuple(written_out)


def _flaws(file: MatrixDocument, matrix: Matrix) -> Iterator[Problem]:
    size, products = matrix.size, matrix.products()
    if size > MAX_COMBINATIONS:
        longest = sorted({(len(lists[axis]), axis) for lists in products for axis in lists})[:-4:-1]
        named = ", ".join(f"{axis} ({length:,} values)" for length, axis in longest)
        message = f"{size:,} combinations are more than {MAX_COMBINATIONS:,}: narrow {named}"
        yield Problem(("axes",), message)
    if not any("model" in entry for entry in file.include) and (
        not products or any("model" not in lists for lists in products)
    ):
        yield Problem(("axes", "model"), "is required: name models, or a set such as small or key")
    listed = {axis for lists in products for axis in lists}
    for position, entry in enumerate(file.exclude):
        for axis in entry:
            if axis not in listed:
                message = "is not an axis of this matrix, so it excludes nothing"
                yield Problem(("exclude", position, axis), f"{message}: list it under axes")
