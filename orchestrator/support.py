"""What can exist, what this release can run, and the exact reason for each thing it can't."""

from orchestrator.built import BUILT, LACKS, REFUSES, RUNTIMES
from orchestrator.shape_limits import why_not_shape
from runner import __version__
from runner.cell import Cell
from runner.models import ModelSpec

_GENERATING_TASKS = frozenset(
    {
        "text-generation",
        "text2text-generation",
        "translation",
        "summarization",
        "image-to-text",
        "image-text-to-text",
        "video-text-to-text",
        "audio-text-to-text",
        "any-to-any",
    }
)
"""Tasks of decoders, in Hugging Face's words; a model with encoder and decoder always generates."""


def why_not(cell: Cell, model: ModelSpec) -> str | None:
    """Why the cell can't run with this release on any machine; None if it can."""
    if reason := why_not_shape(cell, model):
        return reason
    if cell.backend == "fake":
        return _wrong_runtime(cell)
    return _impossible(cell, model) or _not_built(cell)


def _impossible(cell: Cell, model: ModelSpec) -> str | None:
    if reason := _wrong_runtime(cell):
        return reason
    if reason := REFUSES.get((cell.runtime, cell.mode)):
        return f"{cell.mode} is not possible with {_path(cell)}: {reason}"
    if cell.mode == "training" and (reason := _untrainable(cell, model)):
        return f"training is not possible {reason}"
    if cell.mode == "generation" and not generates(model):
        return f"generation is not possible with {cell.model}: its task is {model.task}"
    if reason := LACKS.get((cell.backend, cell.runtime), {}).get(cell.precision):
        return f"{cell.precision} is not possible with {_path(cell)}: {reason}"
    return None


def _untrainable(cell: Cell, model: ModelSpec) -> str | None:
    if cell.precision == "int8":
        return "in int8: whole numbers have no gradients"
    if not model.trains:
        return f"with {cell.model}: it has no labels to learn from"
    if model.contrastive and cell.batch_size < 2:
        return f"with {cell.model} at batch 1: it compares the samples of a batch with one another"
    return None


def generates(model: ModelSpec) -> bool:
    """Whether the model writes tokens."""
    return model.encoder_decoder or model.task in _GENERATING_TASKS


def _path(cell: Cell) -> str:
    return f"{cell.runtime} on {cell.backend}"


def _wrong_runtime(cell: Cell) -> str | None:
    runtimes = RUNTIMES[cell.backend]
    if cell.runtime in runtimes:
        return None
    reason = f"{cell.runtime} does not execute on {cell.backend}, only {', '.join(runtimes)}"
    if cell.runtime == "openvino":
        return f"{reason}; the backend openvino executes on Intel's and AMD's CPUs too"
    return reason


def _not_built(cell: Cell) -> str | None:
    backend, runtime, mode = cell.backend, cell.runtime, cell.mode
    built = [key for key in BUILT if key[0] == backend]
    release = f"accelmatrix {__version__}"
    if not built:
        return f"{release} has no runner for backend {backend}"
    if not any(key[1] == runtime for key in built):
        return f"{release} has no runner for {_path(cell)}"
    if (backend, runtime, mode) not in BUILT:
        return f"{release} cannot measure {mode} with {_path(cell)}"
    if cell.precision not in BUILT[backend, runtime, mode]:
        if mode == "training" and cell.precision == "fp16":
            return f"{release} cannot train in fp16: it has no loss scaling yet"
        return f"{release} cannot run {cell.precision} with {_path(cell)} in mode {mode}"
    return None
