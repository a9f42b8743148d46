"""What can exist, what this release can run, and the exact reason for each thing it can't."""

from collections.abc import Mapping, Set

from runner import __version__
from runner.cell import Backend, Cell, Mode, Precision, Runtime
from runner.models import ModelSpec

RUNTIMES: Mapping[Backend, tuple[Runtime, ...]] = {
    "cpu": ("torch", "torch_compile", "onnxruntime", "openvino"),
    "cuda": ("torch", "torch_compile", "onnxruntime"),
    "rocm": ("torch", "torch_compile", "onnxruntime"),
    "mps": ("torch", "torch_compile"),
    "openvino": ("openvino", "onnxruntime"),
    "qnn": ("onnxruntime",),
    "webnn": ("onnxruntime_web",),
    "webgpu": ("onnxruntime_web",),
    "wasm": ("onnxruntime_web",),
    "fake": ("fake",),
}
"""The runtimes that can execute on a backend at all."""

BUILT: Mapping[tuple[Backend, Runtime, Mode], Set[Precision]] = {
    ("cpu", "torch", "inference"): {"fp32", "bf16"},
    ("cpu", "torch", "generation"): {"fp32", "bf16"},
    ("cpu", "torch", "training"): {"fp32", "bf16"},
    ("cpu", "torch", "startup"): {"fp32", "bf16"},
}
"""The precisions that this release can run. The fake backend, for tests, runs everything."""

_INFERENCE_ONLY: Mapping[Runtime, str] = {
    "openvino": "OpenVINO executes inference graphs only",
    "onnxruntime": "ONNX Runtime executes inference graphs only",
    "onnxruntime_web": "ONNX Runtime Web executes inference graphs only",
}

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
    if reason := _too_long(cell, model):
        return reason
    if cell.backend == "fake":
        return _wrong_runtime(cell)
    return _impossible(cell, model) or _not_built(cell)


def _too_long(cell: Cell, model: ModelSpec) -> str | None:
    """A decoder's new tokens take places behind the prompt; behind an encoder they don't."""
    longest, length = model.max_sequence_length, cell.sequence_length
    if longest is None or length is None:
        return None
    new = 0 if model.encoder_decoder else cell.new_tokens or 0
    if length + new <= longest:
        return None
    asked = f"{length} and {new} new ones" if new else f"{length}"
    return f"{cell.model} takes at most {longest} tokens, not {asked}"


def _impossible(cell: Cell, model: ModelSpec) -> str | None:
    if reason := _wrong_runtime(cell):
        return reason
    if cell.mode == "training":
        if reason := _INFERENCE_ONLY.get(cell.runtime):
            return f"training is not possible on {cell.backend}: {reason}"
        if cell.precision == "int8":
            return "training is not possible in int8: whole numbers have no gradients"
        if model.labels is None:
            return f"training is not possible with {cell.model}: it has no labels to learn from"
    if cell.mode == "generation" and not _generates(model):
        return f"generation is not possible with {cell.model}: its task is {model.task}"
    return None


def _generates(model: ModelSpec) -> bool:
    return model.encoder_decoder or model.task in _GENERATING_TASKS


def _wrong_runtime(cell: Cell) -> str | None:
    runtimes = RUNTIMES[cell.backend]
    if cell.runtime in runtimes:
        return None
    return f"{cell.runtime} does not execute on {cell.backend}, only {', '.join(runtimes)}"


def _not_built(cell: Cell) -> str | None:
    backend, runtime, mode = cell.backend, cell.runtime, cell.mode
    built = [key for key in BUILT if key[0] == backend]
    release = f"accelmatrix {__version__}"
    if not built:
        return f"{release} has no runner for backend {backend}"
    if not any(key[1] == runtime for key in built):
        return f"{release} has no runner for {runtime} on {backend}"
    if (backend, runtime, mode) not in BUILT:
        return f"{release} cannot measure {mode} on {backend}"
    if cell.precision not in BUILT[backend, runtime, mode]:
        if mode == "training" and cell.precision == "fp16":
            return f"{release} cannot train in fp16: it has no loss scaling yet"
        return f"{release} cannot run {cell.precision} on {backend}"
    return None
