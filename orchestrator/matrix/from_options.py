"""A matrix from options, without a file: `orchestrator bench --model … --batch-size 1,2,4`."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.matrix import Location, Matrix, Source, override, resolve
from orchestrator.matrix.heads import require_family
from runner.contract.axes import AXES, Axis, AxisName
from runner.contract.errors import UsageError
from runner.contract.models import catalogue

_OPTIONS: Mapping[Location, str] = {
    **{("axes", axis.name): axis.option for axis in AXES},
    ("measure", "profile"): "--profile",
    ("measure", "iterations"): "--iterations",
    ("limits", "cell_timeout"): "--cell-timeout",
    ("limits", "memory"): "--memory",
    ("axes",): "bench",
}
_NUMBER = re.compile(r"[0-9]{1,19}(\.[0-9]{1,19})?")


@dataclass(frozen=True)
class BenchOptions:
    """The options of `orchestrator bench`; one that repeats or holds commas is a list."""

    axes: Mapping[AxisName, Sequence[str]] = field(default_factory=dict)
    """Values of the axes that are named."""
    families: Sequence[str] = ()
    """All catalogued models of these families."""
    every_model: bool = False
    """True for all catalogued models."""
    profile: str = "quick"
    """The measurement profile."""
    iterations: int | None = None
    """Fewest timed iterations; the profile's if None."""
    cell_timeout: str | None = None
    """Time that each cell may take, e.g. `20m`."""
    memory: str | None = None
    """Memory that a job may use, e.g. `8GiB`."""


def bench_matrix(options: BenchOptions, overrides: Sequence[str] = ()) -> Matrix:
    """The matrix that the options describe, checked as a file is; `--set` overrides change it.

    Raises:
        UsageError: an option is wrong; the message names it.
    """
    axes = {axis.name: _values(axis, options.axes.get(axis.name, ())) for axis in AXES}
    axes["model"] = _models(options)
    data = {
        "version": 1,
        "axes": {axis: values for axis, values in axes.items() if values},
        "measure": _given(profile=options.profile, iterations=options.iterations),
        "limits": _given(cell_timeout=options.cell_timeout, memory=options.memory),
    }
    return resolve(override(Source("bench", data, options=_OPTIONS), overrides))


def _models(options: BenchOptions) -> list[str]:
    models = split(options.axes.get("model", ()))
    families = [require_family(name) for name in split(options.families)]
    ways = [bool(models), bool(families), options.every_model]
    if sum(ways) != 1:
        raise UsageError(
            "bench: name the models by exactly one of --model, --family and --all",
            hint="`orchestrator models list` shows them",
        )
    if options.every_model:
        return list(catalogue())
    return models or [name for name, spec in catalogue().items() if spec.family in families]


def split(values: Sequence[str]) -> list[str]:
    """The values of an option that may be repeated, and may hold commas."""
    return [item.strip() for value in values for item in value.split(",")]


def _values(axis: Axis, texts: Sequence[str]) -> list[Any]:
    """Values of an option; numbers where they are, as what is none is refused by the matrix."""
    items = split(texts)
    return items if axis.kind in ("model", "choice") else [_number(item) for item in items]


def _number(text: str) -> int | float | str:
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _given(**values: Any) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None}
