"""One model at given sizes: its tensors, arithmetic, memory and the backends that support it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from orchestrator.matrix import Location, Source, resolve
from orchestrator.planning.expand import Expansion, expand
from orchestrator.planning.memory import memory_need_bytes
from runner.contract.axes import RUNTIMES, SIZE_AXES
from runner.contract.cell import Backend, Cell, Precision, Runtime
from runner.contract.errors import Unsupported
from runner.contract.models import ModelSpec, TensorSpec, Work, find, shape_of, sizes_of, work
from runner.contract.support import why_not_shape

Verdict = tuple[Cell, str | None]
"""A cell, with the reason if no machine can run it."""


@dataclass(frozen=True)
class BackendSupport:
    """One runtime on one backend."""

    backend: Backend
    runtime: Runtime
    precisions: tuple[Precision, ...]
    """Precisions in which it can compute the model."""
    reasons: tuple[str, ...]
    """The reasons why not in the others; each once."""


@dataclass(frozen=True)
class Tensor:
    """One input of a query."""

    spec: TensorSpec
    """Its description."""
    shape: tuple[int, ...]
    """Its sizes in numbers."""


@dataclass(frozen=True)
class ModelSheet:
    """The facts about one model at given sizes."""

    model: ModelSpec
    cell: Cell
    """A cell of these sizes; what it runs on says nothing."""
    tensors: tuple[Tensor, ...]
    """The inputs of a query."""
    work: Work | None
    """The work of one forward pass in fp32; None for models that nobody counted."""
    memory_bytes: Mapping[Precision, float]
    """The least host memory that the cpu backend needs, by precision."""
    backends: tuple[BackendSupport, ...]
    """Every backend with every runtime that executes there."""
    notes: tuple[str, ...] = field(default=())
    """Sentences about sizes that the model does not have."""


def model_sheet(name: str, mode: str = "inference", **sizes: int | None) -> ModelSheet:
    """Everything about the model of that name; sizes left out are its usual ones.

    Raises:
        UnknownModel, MatrixError: no such model, or a size that is none.
        Unsupported: the model doesn't take these sizes.
    """
    model, expansion = find(name), _everywhere(name, mode, sizes)
    cell = expansion.cells[0][0]
    if reason := why_not_shape(cell, model):
        raise Unsupported(reason)
    at = sizes_of(model, cell)
    return ModelSheet(
        model=model,
        cell=cell,
        tensors=tuple(Tensor(spec, shape_of(model, spec, at)) for spec in model.inputs),
        work=work(model, cell),
        memory_bytes={
            precision: memory_need_bytes(_on_cpu(cell, precision), model)
            for precision in get_args(Precision)
        },
        backends=_backends(expansion.cells),
        notes=expansion.notes,
    )


def _everywhere(name: str, mode: str, sizes: Mapping[str, int | None]) -> Expansion:
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
        ("axes", axis): f"--{axis.replace('_', '-')}" for axis in ("mode", *SIZE_AXES)
    }
    return expand(resolve(Source("models show", data, options=options)))


def _on_cpu(cell: Cell, precision: Precision) -> Cell:
    return cell.model_copy(update={"backend": "cpu", "runtime": "torch", "precision": precision})


def _backends(verdicts: Sequence[Verdict]) -> tuple[BackendSupport, ...]:
    pairs = dict.fromkeys((cell.backend, cell.runtime) for cell, _ in verdicts)
    return tuple(
        BackendSupport(
            *pair,
            tuple(cell.precision for cell, reason in _of(pair, verdicts) if reason is None),
            tuple(dict.fromkeys(reason for _, reason in _of(pair, verdicts) if reason is not None)),
        )
        for pair in pairs
    )


def _of(pair: tuple[Backend, Runtime], verdicts: Sequence[Verdict]) -> Sequence[Verdict]:
    return [verdict for verdict in verdicts if (verdict[0].backend, verdict[0].runtime) == pair]
