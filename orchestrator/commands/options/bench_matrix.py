"""A matrix from options, without a file: `orchestrator bench --model … --batch-size 1,2,4`."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from orchestrator.commands.options.axes import BenchOptions
from orchestrator.matrix import Location, Matrix, Source, override, resolve
from orchestrator.matrix.available import FindBackends, asks_for_available, with_available
from orchestrator.matrix.model_config import require_family, require_modality
from orchestrator.system.text import split_list
from runner.contract.axes import AXES, Axis
from runner.contract.errors import UsageError
from runner.contract.models import catalogue
from runner.contract.support import SUPPORTED

_OPTIONS: Mapping[Location, str] = {
    **{("axes", axis.name): axis.option for axis in AXES},
    ("measure", "profile"): "--profile",
    ("measure", "iterations"): "--iterations",
    ("measure", "rounds"): "--rounds",
    ("limits", "cell_timeout"): "--cell-timeout",
    ("limits", "memory"): "--memory",
}
_USUAL = "cpu"
_NUMBER = re.compile(r"[0-9]{1,19}(\.[0-9]{1,19})?")


def bench_matrix(
    options: BenchOptions,
    overrides: Sequence[str] = (),
    find_backends: FindBackends | None = None,
    command: str = "bench",
) -> Matrix:
    """The matrix that the options describe, checked as a file is; `--set` overrides change it.

    The machine is asked for its backends if the options name `available`. Errors name the command
    whose options they are.
    """
    axes = {axis.name: _values(axis, options.axes.get(axis.name, ())) for axis in AXES}
    axes["model"] = _models(options, command)
    data = {
        "version": 1,
        "axes": {axis: values for axis, values in axes.items() if values},
        "measure": {**_given(options, "profile", "iterations", "rounds"), **_beside(options)},
        "limits": _given(options, "cell_timeout", "memory"),
    }
    source = override(Source(command, data, options={**_OPTIONS, ("axes",): command}), overrides)
    chosen: Iterable[str]
    if find_backends and asks_for_available(source.data):
        data, chosen = with_available(source.data, find_backends())
    else:
        data, chosen = _with_backends(source.data)
    matrix = resolve(replace(source, data=data))
    return matrix.model_copy(update={"notes": (*matrix.notes, *chosen)})


def _with_backends(data: Any) -> tuple[dict[str, Any], Sequence[str]]:
    """The matrix with the backends that follow from runtimes where none is named, and a note.

    The usual one executes what it can. Another runtime takes the only backend that has it.
    """
    axes = data.get("axes")
    runtimes = axes.get("runtime") if isinstance(axes, dict) else None
    if not isinstance(runtimes, list) or "backend" in axes or "backends" in data:
        return data, ()
    paths: dict[str, list[str]] = {}
    for runtime in runtimes:
        backends = {backend for backend, known, _ in SUPPORTED if known == runtime}
        only = backends.pop() if len(backends) == 1 else _USUAL
        paths.setdefault(only, []).append(runtime)
    if not paths.keys() - {_USUAL}:
        return data, ()
    chosen = ", ".join(f"{' and '.join(names)} on {backend}" for backend, names in paths.items())
    lists = {backend: {"axes": {"runtime": names}} for backend, names in paths.items()}
    new = {**data, "axes": {**axes, "backend": list(paths)}, "backends": lists}
    return new, [f"no --backend is named: {chosen}"]


def _models(options: BenchOptions, command: str) -> list[str]:
    names = split_list(options.axes.get("model", ()), of_paths=True)
    if not options.modality:
        return named_models(command, names, options.family or (), every_model=options.all_)
    if names or options.family or options.all_:
        raise UsageError(
            f"{command}: --modality names models by itself",
            hint="leave --model, --family and --all out",
        )
    wanted = frozenset(require_modality(name) for name in split_list(options.modality or ()))
    return [name for name, spec in catalogue().items() if spec.contents & wanted]


def named_models(
    command: str, models: Sequence[str], families: Sequence[str], *, every_model: bool
) -> list[str]:
    """The models of a command: named ones, those of families, or all catalogued ones."""
    wanted = [require_family(name) for name in split_list(families)]
    if sum([bool(models), bool(wanted), every_model]) != 1:
        raise UsageError(
            f"{command}: name the models by exactly one of --model, --family"
            f"{'' if command == 'recommend' else ', --modality'} and --all",
            hint="`orchestrator models list` shows them",
        )
    if every_model:
        return list(catalogue())
    return list(models) or [name for name, spec in catalogue().items() if spec.family in wanted]


def _values(axis: Axis, texts: Sequence[str]) -> list[Any]:
    """Values of an option; numbers where they are, as what is none is refused by the matrix."""
    items = split_list(texts)
    return items if axis.kind in ("model", "choice") else [_number(item) for item in items]


def _number(text: str) -> int | float | str:
    if not _NUMBER.fullmatch(text):
        return text
    return float(text) if "." in text else int(text)


def _beside(options: BenchOptions) -> dict[str, Any]:
    """Models that are named one by one are compared with each other."""
    named = split_list(options.axes.get("model", ()), of_paths=True)
    return {"side_by_side": True} if len(named) > 1 else {}


def _given(options: BenchOptions, *names: str) -> dict[str, Any]:
    return {name: value for name in names if (value := getattr(options, name)) is not None}
