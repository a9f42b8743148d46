"""One model at given sizes: its tensors, arithmetic, memory and the backends that support it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from orchestrator.matrix import Location, Matrix, Source, resolve
from orchestrator.planning.expand import Expansion, expand
from orchestrator.planning.memory import memory_need_bytes
from orchestrator.screen.words.reasons import reason_text
from runner.contract.axes import RUNTIMES, SIZE_AXES, Backend, Mode, Precision, Runtime
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported, UsageError
from runner.contract.models import (
    IterationWork,
    ModelSpec,
    TensorSpec,
    Work,
    iteration_work,
    model_sets,
    shape_of,
    sizes_of,
    work,
)
from runner.contract.reasons import Reason
from runner.contract.support import why_not, why_not_shape


@dataclass(frozen=True)
class BackendSupport:
    """One runtime on one backend."""

    backend: Backend
    runtime: Runtime
    precisions: tuple[Precision, ...]
    reasons: tuple[str, ...]
    """The reasons why not in the others; each once."""


@dataclass(frozen=True)
class Tensor:
    """One input of a query."""

    spec: TensorSpec
    shape: tuple[int, ...]
    """Its sizes in numbers."""


@dataclass(frozen=True)
class ModelSheet:
    """The facts about one model at given sizes."""

    model: ModelSpec
    cell: Cell
    """A cell of these sizes; what it runs on says nothing."""
    tensors: tuple[Tensor, ...]
    work: Work | None
    """The work of one forward pass in fp32; None if it was not counted."""
    iteration: IterationWork | None
    """The work of one iteration of the cell's mode, as records have it in fp32; None likewise."""
    memory_bytes: Mapping[Precision, float]
    """The least host memory that the cpu backend needs, by precision."""
    modes: tuple[Mode, ...]
    backends: tuple[BackendSupport, ...]
    notes: tuple[str, ...]
    """Sentences about sizes that the model does not have."""


def model_sheets(name: str, mode: str = "inference", **sizes: int | None) -> tuple[ModelSheet, ...]:
    """Everything about the models that a name stands for: one, or those of a file of custom models.

    Sizes left out are a model's usual ones.
    """
    if name in model_sets():
        raise UsageError(
            f"{name} is a set of {len(model_sets()[name])} models, not a model",
            hint=f"`orchestrator models list --set {name}` shows them",
        )
    matrix = _everywhere(name, mode, sizes)
    expansion = expand(matrix)
    return tuple(_sheet(model, expansion) for model in matrix.models.values())


def _sheet(model: ModelSpec, expansion: Expansion) -> ModelSheet:
    verdicts = [verdict for verdict in expansion.cells if verdict[0].model == model.name]
    cell, _ = verdicts[0]
    if refusal := why_not_shape(cell, model):
        raise Unsupported(refusal)
    at = sizes_of(model, cell)
    return ModelSheet(
        model=model,
        cell=cell,
        tensors=tuple(Tensor(spec, shape_of(model, spec, at)) for spec in model.inputs),
        work=work(model, cell),
        iteration=iteration_work(model, _on_cpu(cell, "fp32")),
        memory_bytes={
            precision: memory_need_bytes(_on_cpu(cell, precision), model)
            for precision in get_args(Precision)
        },
        modes=tuple(mode for mode in get_args(Mode) if _is_possible(cell, mode, model)),
        backends=_backends(verdicts),
        notes=expansion.notes,
    )


def _is_possible(cell: Cell, mode: Mode, model: ModelSpec) -> bool:
    """True if torch on a CPU has the mode with this model, which is so wherever anything has."""
    least = 2 if model.contrastive else 1
    new_tokens = 1 if mode == "generation" else None
    changes = {"mode": mode, "batch_size": least, "new_tokens": new_tokens, "sequence_length": 1}
    if not model.takes_sequence:
        del changes["sequence_length"]
    return why_not(_on_cpu(cell, "fp32").model_copy(update=changes), model) is None


def _everywhere(name: str, mode: str, sizes: Mapping[str, int | None]) -> Matrix:
    """The model on everything, in every precision, as a matrix would have it."""
    backends = [backend for backend in RUNTIMES if backend != "fake"]
    axes: dict[str, Any] = {"model": name, "backend": backends, "mode": mode}
    axes |= {axis: value for axis, value in sizes.items() if value is not None}
    data = {
        "version": 1,
        "axes": axes | {"precision": list(get_args(Precision))},
        "backends": {
            backend: {"axes": {"runtime": list(RUNTIMES[backend])}} for backend in backends
        },
    }
    options: dict[Location, str] = {
        ("axes", "model"): "models show",
        **{("axes", axis): f"--{axis.replace('_', '-')}" for axis in ("mode", *SIZE_AXES)},
    }
    return resolve(Source("models show", data, options=options))


def _on_cpu(cell: Cell, precision: Precision) -> Cell:
    return cell.model_copy(update={"backend": "cpu", "runtime": "torch", "precision": precision})


def _backends(verdicts: Sequence[tuple[Cell, Reason | None]]) -> tuple[BackendSupport, ...]:
    pairs: dict[tuple[Backend, Runtime], list[tuple[Precision, Reason | None]]] = {}
    for cell, reason in verdicts:
        pairs.setdefault((cell.backend, cell.runtime), []).append((cell.precision, reason))
    return tuple(
        BackendSupport(
            *pair,
            tuple(precision for precision, reason in known if reason is None),
            tuple(dict.fromkeys(reason_text(reason) for _, reason in known if reason)),
        )
        for pair, known in pairs.items()
    )
