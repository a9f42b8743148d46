"""The word `available` of `bench`: the backends of this machine, each with its own lists."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from analysis.results.synonyms import AVAILABLE, axis_called
from orchestrator.backends.catalogue import CATALOGUE
from runner.contract.axes import AxisName, Backend, Mode, Precision, Runtime
from runner.contract.cell import DEFAULT_RUNTIMES
from runner.contract.errors import NothingToDo, UsageError
from runner.contract.support import SUPPORTED

_DOCTOR = "`orchestrator doctor` says what each backend lacks"


@dataclass(frozen=True)
class AvailableBackends:
    """The backends that a launcher can measure on this machine now."""

    launcher: str
    backends: Sequence[Backend]
    left_out: Mapping[Backend, str]
    """Backends that run here and are not measured, with the reason."""


FindBackends = Callable[[], AvailableBackends]
"""Looks at the machine, which takes a second or two."""


def asks_for_available(data: Any) -> bool:
    """True if a matrix names `available` as a backend, beside which none is named."""
    axes = data.get("axes")
    named = axes.get("backend") if isinstance(axes, dict) else None
    if not isinstance(named, list) or AVAILABLE not in named:
        return False
    if others := [str(name) for name in named if name != AVAILABLE]:
        message = f"--backend: {AVAILABLE!r} stands for every backend of this machine"
        raise UsageError(
            f"{message}, so nothing is named beside it",
            hint=f"leave out {AVAILABLE} or {', '.join(others)}",
        )
    return True


def with_available(
    data: Mapping[str, Any], here: AvailableBackends
) -> tuple[dict[str, Any], list[str]]:
    """The matrix with the machine's backends in place of the word, and sentences about the choice.

    A backend has the lists of its row in the catalogue where the matrix names none, and the
    runtimes that it can execute; one that can execute none is left out.
    """
    axes: Mapping[AxisName, Any] = data["axes"]
    lists = {backend: _lists(backend, axes) for backend in here.backends}
    chosen = {backend: own for backend, own in lists.items() if own is not None}
    useless = {backend: _refusal(axes) for backend in here.backends if backend not in chosen}
    left_out = [f"{backend}: {reason}" for backend, reason in {**here.left_out, **useless}.items()]
    by_launcher = f"by the {here.launcher} launcher"
    if not chosen:
        reasons = "; ".join(left_out) or "none runs here"
        message = f"--backend {AVAILABLE}: no backend can be measured {by_launcher}: {reasons}"
        raise NothingToDo(message, hint=_DOCTOR)
    tables = data.get("backends", {})
    if isinstance(tables, dict):
        tables = tables | {name: _beneath(own, tables.get(name)) for name, own in chosen.items()}
    filled = {**data, "axes": {**axes, "backend": list(chosen)}, "backends": tables}
    return filled, [
        f"available {by_launcher}: {', '.join(chosen)}",
        *(f"left out is {reason}" for reason in left_out),
    ]


def _lists(backend: Backend, axes: Mapping[AxisName, Any]) -> dict[AxisName, list[Any]] | None:
    """The backend's own lists; None if it can execute nothing of what the matrix names."""
    spec, named = CATALOGUE[backend], _named("runtime", axes)
    supported = {runtime: _precisions(backend, runtime, axes) for runtime in named}
    runtimes = [runtime for runtime, precisions in supported.items() if precisions]
    if not runtimes:
        return None
    lists: dict[AxisName, list[Any]] = {} if runtimes == named else {"runtime": runtimes}
    usual = [name for name in spec.precisions if any(name in supported[r] for r in runtimes)]
    if usual and "precision" not in axes:
        lists["precision"] = usual
    if "batch_size" not in axes:
        lists["batch_size"] = list(spec.batch_sizes)
    return lists


def _precisions(backend: Backend, runtime: str, axes: Mapping[AxisName, Any]) -> set[Precision]:
    name = DEFAULT_RUNTIMES[backend] if runtime == "default" else runtime
    paths = [(backend, cast("Runtime", name), cast("Mode", mode)) for mode in _named("mode", axes)]
    return {precision for path in paths for precision in SUPPORTED.get(path, ())}


def _named(name: AxisName, axes: Mapping[AxisName, Any]) -> list[str]:
    """The values on an axis of choices, or the one that applies where the matrix names none."""
    values = axes.get(name, [axis_called(name).default])
    return values if isinstance(values, list) else [values]


def _refusal(axes: Mapping[AxisName, Any]) -> str:
    modes, runtimes = (" or ".join(map(str, _named(name, axes))) for name in ("mode", "runtime"))
    by = "its own runtime" if runtimes == "default" else f"runtime {runtimes}"
    return f"it has no {modes} by {by}"


def _beneath(lists: Mapping[AxisName, list[Any]], table: Any) -> Any:
    """A backend's table with these lists where it names none; a table that is wrong stays so."""
    if table is None:
        return {"axes": lists}
    axes = table.get("axes", {}) if isinstance(table, dict) else None
    return {**table, "axes": {**lists, **axes}} if isinstance(axes, dict) else table
