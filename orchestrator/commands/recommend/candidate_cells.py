"""Cells to choose from: the product of what is asked about with all that could run it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from orchestrator.commands.options.bench_matrix import named_models
from orchestrator.matrix import Location, Matrix, Source, resolve
from orchestrator.planning.expand import expand
from runner.contract.axes import AXES, RUNTIMES, AxisName, Backend, Precision
from runner.contract.cell import Cell
from runner.contract.errors import UsageError
from runner.contract.reasons import Reason
from runner.contract.support import SUPPORTED

COMMAND = "recommend"
BATCH_SIZES = tuple(1 << power for power in range(9))
"""Batch sizes to choose from, unless somebody names others."""
FINE_BATCH_SIZES = (
    *range(1, 9),
    *(step << power for power in range(1, 8) for step in (5, 6, 7, 8)),
)
"""Batch sizes under a memory limit: no step is more than a quarter from 4 on, so that little of
the limit is left unused."""
ASKED_MODES = ("inference", "generation", "training")
_OPTIONS: Mapping[Location, str] = {
    **{("axes", axis.name): axis.option for axis in AXES},
    ("axes",): COMMAND,
}


@dataclass(frozen=True)
class CandidateRequest:
    """The models that are asked about, and the values that narrow the candidates."""

    axes: Mapping[AxisName, Sequence[str]] = field(default_factory=dict)
    families: Sequence[str] = ()
    every_model: bool = False


@dataclass(frozen=True)
class CandidateCells:
    """Cells with the reasons why some cannot run, and their models."""

    cells: tuple[tuple[Cell, Reason | None], ...]
    matrix: Matrix


def candidate_cells(
    request: CandidateRequest, backends: Sequence[Backend], batch_sizes: Sequence[int]
) -> CandidateCells:
    """The cells of the models on these backends, with every runtime and precision of theirs."""
    named = {name: list(values) for name, values in request.axes.items() if values}
    _require_modes(named.get("mode", ()))
    models = named_models(
        COMMAND, named.pop("model", []), request.families, every_model=request.every_model
    )
    axes: dict[str, Any] = {
        name: values if _is_word(name) else [int(value) for value in values]
        for name, values in named.items()
    }
    runtimes = axes.pop("runtime", None)
    paths = {backend: _runtimes(backend, runtimes) for backend in backends}
    data = {
        "version": 1,
        "axes": {
            "precision": list(_precisions(backends)),
            "batch_size": list(batch_sizes),
            **axes,
            "model": models,
            "backend": [backend for backend in backends if paths[backend]],
        },
        "backends": {name: {"axes": {"runtime": of}} for name, of in paths.items() if of},
    }
    if not data["axes"]["backend"]:  # type: ignore[index]
        raise UsageError(
            f"--runtime: {', '.join(runtimes or ())} executes on none of {', '.join(backends)}",
            hint="`orchestrator doctor` shows the backends of this machine",
        )
    matrix = resolve(Source(COMMAND, data, options=_OPTIONS))
    return CandidateCells(expand(matrix).cells, matrix)


def _is_word(name: AxisName) -> bool:
    return next(axis.kind for axis in AXES if axis.name == name) in ("model", "choice")


def _require_modes(modes: Sequence[str]) -> None:
    for mode in modes:
        if mode not in ASKED_MODES:
            raise UsageError(
                f"--mode: {mode!r} is not compared by {COMMAND}",
                hint=f"it takes {', '.join(ASKED_MODES)}",
            )


def _runtimes(backend: Backend, named: Sequence[str] | None) -> list[str]:
    supported = {runtime for of, runtime, _ in SUPPORTED if of == backend}
    known = [runtime for runtime in RUNTIMES[backend] if runtime in supported or backend == "fake"]
    return [runtime for runtime in known if named is None or runtime in named]


def _precisions(backends: Sequence[Backend]) -> tuple[Precision, ...]:
    """The precisions that any runtime has on these backends."""
    known = {one for (of, _, _), own in SUPPORTED.items() if of in backends for one in own}
    every: tuple[Precision, ...] = ("fp32", "bf16", "fp16", "int8")
    return tuple(name for name in every if name in known) or ("fp32",)
