"""Supported combinations, and the reasons why others are not: read by host and runner alike."""

from collections.abc import Mapping, Set
from types import MappingProxyType

from runner import __version__
from runner.contract.axes import IN_CHILDREN, RUNTIMES, SIZE_AXES, Backend, Mode, Precision, Runtime
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import AxisRange, ModelSpec, prompt_length, refusal

_Supported = Mapping[tuple[Backend, Runtime, Mode], Set[Precision]]
_FLOATS: tuple[Precision, ...] = ("fp32", "bf16", "fp16")
_EAGER: tuple[Mode, ...] = ("inference", "generation", "startup")
_COMPILED: tuple[Mode, ...] = ("inference", "startup")


def _on(
    backend: Backend, runtime: Runtime, modes: tuple[Mode, ...], *precisions: Precision
) -> dict[tuple[Backend, Runtime, Mode], Set[Precision]]:
    return {(backend, runtime, mode): frozenset(precisions) for mode in modes}


SUPPORTED: _Supported = MappingProxyType(
    _on("cpu", "torch", _EAGER, *_FLOATS, "int8")
    | _on("cpu", "torch", ("training",), *_FLOATS)
    | _on("cpu", "torch_compile", _COMPILED, *_FLOATS)
    | _on("cpu", "torch_compile", ("training",), *_FLOATS)
    | _on("cpu", "onnxruntime", _EAGER, "fp32", "int8")
    | _on("cuda", "torch", _EAGER, *_FLOATS, "int8")
    | _on("cuda", "torch", ("training",), *_FLOATS)
    | _on("cuda", "torch_compile", _COMPILED, *_FLOATS)
    | _on("cuda", "torch_compile", ("training",), *_FLOATS)
    | _on("cuda", "onnxruntime", _EAGER, "fp32", "fp16")
    | _on("rocm", "torch", _EAGER, *_FLOATS)
    | _on("rocm", "torch", ("training",), *_FLOATS)
    | _on("rocm", "torch_compile", _COMPILED, *_FLOATS)
    | _on("rocm", "torch_compile", ("training",), *_FLOATS)
    | _on("mps", "torch", _EAGER, *_FLOATS)
    | _on("mps", "torch", ("training",), *_FLOATS)
    | _on("openvino", "openvino", _COMPILED, *_FLOATS, "int8")
    | _on("openvino", "openvino", ("generation",), *_FLOATS)
    | _on("qnn", "onnxruntime", ("inference",), "fp16", "int8")
    | _on("wasm", "onnxruntime_web", _EAGER, "fp32", "int8")
    | _on("webnn", "onnxruntime_web", _EAGER, "fp32")
    | _on("webgpu", "onnxruntime_web", _EAGER, "fp32", "fp16")
)
"""The precisions that this release runs. The fake backend, for tests, runs everything."""

_NO_INTEGERS = "this release has int8 matrix products for torch on cpu and cuda only"
_PACKED = (
    "the quantised layers of torch.ao hold packed weights, which torch.compile leaves to eager mode"
)
_NO_FALLBACK = (
    "'This session contains graph nodes that are assigned to the default CPU EP, but fallback to "
    "CPU EP has been explicitly disabled by the user'"
)
UNSUPPORTED_PRECISION: Mapping[tuple[Backend, Runtime], Mapping[Precision, str]] = {
    ("cpu", "onnxruntime"): {
        "bf16": "ONNX Runtime's CPU provider has no bf16 kernels for matrix products",
        "fp16": "ONNX Runtime's CPU provider computes fp16 graphs in fp32, between casts",
    },
    ("cuda", "onnxruntime"): {
        "bf16": "ONNX Runtime's CUDA provider has bf16 kernels for a part of the operators only",
        "int8": "ONNX Runtime's CUDA provider has no kernel for dynamically quantized products",
    },
    ("qnn", "onnxruntime"): {
        "fp32": "the HTP computes in fp16 whatever floating-point graph it is given",
        "bf16": "the HTP computes in fp16 whatever floating-point graph it is given",
    },
    ("wasm", "onnxruntime_web"): {
        "bf16": "ONNX Runtime's CPU provider has no bf16 kernels for matrix products",
        "fp16": "ONNX Runtime's CPU provider computes fp16 graphs in fp32, between casts",
    },
    ("webnn", "onnxruntime_web"): {
        "bf16": "WebNN has no type for it",
        "fp16": "WebNN's cpu device takes fp16 graphs and computes them in fp32 (Chromium 153)",
        "int8": f"WebNN takes no MatMulInteger (ONNX Runtime Web 1.30): {_NO_FALLBACK}",
    },
    ("webgpu", "onnxruntime_web"): {
        "bf16": "shaders of WebGPU have no type for it",
        "int8": "ONNX Runtime's WebGPU provider leaves every int8 product (MatMulInteger, "
        "DynamicQuantizeLinear) to the CPU (ONNX Runtime Web 1.30)",
    },
    ("cpu", "torch_compile"): {"int8": _PACKED},
    ("rocm", "torch_compile"): {"int8": _NO_INTEGERS},
    ("rocm", "torch"): {"int8": _NO_INTEGERS},
    ("mps", "torch"): {"int8": _NO_INTEGERS},
}
"""The reasons why a runtime cannot compute in a precision on a backend."""

UNSUPPORTED_MODE: Mapping[tuple[Runtime, Mode], str] = {
    ("torch_compile", "generation"): "with fixed shapes every token would be compiled anew, as the "
    "key-value cache grows",
    ("openvino", "training"): "OpenVINO executes inference graphs only",
    ("onnxruntime", "training"): "ONNX Runtime executes inference graphs only",
    ("onnxruntime_web", "training"): "ONNX Runtime Web executes inference graphs only",
}
"""The reasons why a runtime cannot have a mode."""
_UNKNOWN_WAIT = "a page times its queries itself, so that the wait of one in line is not known"

UNSUPPORTED_BACKEND: Mapping[tuple[Backend, Runtime], str] = {
    ("rocm", "onnxruntime"): "its releases have no ROCm provider any more, and its provider for "
    "MIGraphX comes in a package of its own",
    ("mps", "onnxruntime"): "it has a provider for Core ML, none for MPS",
    ("openvino", "onnxruntime"): "its OpenVINO provider comes in a package of its own; the runtime "
    "openvino executes the same graph",
}
"""The reasons why a runtime has no device of a backend in this release."""
UNTRAINED_PRECISION: Mapping[Precision, str] = {
    "int8": "whole numbers have no gradients",
}
"""The reasons why no model is trained in a precision."""
_NO_REASON = "this release does not support it"


def mode_error(cell: Cell, mode: Mode) -> Unsupported:
    """The refusal of a mode by the cell's runtime."""
    reason = UNSUPPORTED_MODE.get((cell.runtime, mode), _NO_REASON)
    return Unsupported(f"{mode} is not possible with {_path(cell)}: {reason}")


def precision_error(cell: Cell) -> Unsupported:
    """The refusal of the cell's precision by its runtime on its backend."""
    path = (cell.backend, cell.runtime)
    reason = UNSUPPORTED_PRECISION.get(path, {}).get(cell.precision)
    reason = reason or UNSUPPORTED_BACKEND.get(path, _NO_REASON)
    return Unsupported(f"{cell.precision} is not possible with {_path(cell)}: {reason}")


def training_error(precision: Precision) -> Unsupported:
    """The refusal to train in a precision of `UNTRAINED_PRECISION`."""
    return Unsupported(f"training is not possible in {precision}: {UNTRAINED_PRECISION[precision]}")


_RANGED = tuple(name for name in SIZE_AXES if name in ModelSpec.model_fields)
"""The sizes of which models say what they take."""


def why_not_shape(cell: Cell, model: ModelSpec) -> str | None:
    """The first of the cell's sizes that the model doesn't take; None if it takes all.

    An image's size comes first, since the prompt's length may follow from it.
    """
    for axis in _RANGED:
        allowed: AxisRange | None = getattr(model, axis)
        size: int | None = getattr(cell, axis)
        if allowed and size is not None and (reason := refusal(allowed, size)):
            return f"{cell.model} takes {axis} of {reason}, not {size}"
    return _too_long(cell, model) or _too_many(cell, model)


def _too_long(cell: Cell, model: ModelSpec) -> str | None:
    """A decoder's new tokens take places behind the prompt; behind an encoder they don't."""
    longest, length = model.max_sequence_length, cell.sequence_length
    if longest is None or length is None:
        return None
    of_images = (prompt_length(model, cell) or length) - length if model.image_prompt else 0
    new = 0 if model.encoder_decoder else cell.new_tokens or 0
    if length + of_images + new <= longest:
        return None
    parts = ((of_images, "of an image"), (new, "new ones"))
    named = [f"{length}", *(f"{count} {noun}" for count, noun in parts if count)]
    return f"{cell.model} takes at most {longest} tokens, not {' and '.join(named)}"


def _too_many(cell: Cell, model: ModelSpec) -> str | None:
    most, new = model.max_new_tokens, cell.new_tokens
    if most is None or new is None or new <= most:
        return None
    return f"{cell.model} generates at most {most} tokens, not {new}"


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
    """The reason why the cell can't run with this release on any machine; None if it can."""
    if reason := why_not_shape(cell, model):
        return reason
    if cell.backend == "fake":
        return _wrong_runtime(cell)
    return _impossible(cell, model) or _unsupported(cell)


def _impossible(cell: Cell, model: ModelSpec) -> str | None:
    if reason := _wrong_runtime(cell):
        return reason
    if reason := _impossible_way(cell):
        return reason
    if cell.mode == "training" and (reason := _untrainable(cell, model)):
        return f"training is not possible {reason}"
    if cell.mode == "generation" and not generates(model):
        return f"generation is not possible with {cell.model}: its task is {model.task}"
    if reason := UNSUPPORTED_PRECISION.get((cell.backend, cell.runtime), {}).get(cell.precision):
        return f"{cell.precision} is not possible with {_path(cell)}: {reason}"
    return None


def _impossible_way(cell: Cell) -> str | None:
    """The reason why the runtime has not the cell's mode or scenario."""
    if reason := UNSUPPORTED_MODE.get((cell.runtime, cell.mode)):
        return f"{cell.mode} is not possible with {_path(cell)}: {reason}"
    if cell.scenario == "server" and cell.runtime in IN_CHILDREN:
        return f"scenario server is not possible with {_path(cell)}: {_UNKNOWN_WAIT}"
    return None


def _untrainable(cell: Cell, model: ModelSpec) -> str | None:
    if cell.precision == "int8":
        return f"in int8: {UNTRAINED_PRECISION['int8']}"
    if not model.trains:
        return f"with {cell.model}: it has no labels to learn from"
    if model.contrastive and cell.batch_size < 2:
        return f"with {cell.model} at batch 1: it compares the samples of a batch with one another"
    return None


def generates(model: ModelSpec) -> bool:
    """True if the model writes tokens."""
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


def _unsupported(cell: Cell) -> str | None:
    backend, runtime, mode = cell.backend, cell.runtime, cell.mode
    supported = [key for key in SUPPORTED if key[0] == backend]
    release = f"accelmatrix {__version__}"
    if not any(key[1] == runtime for key in supported):
        return f"{release} has no runner for {_path(cell)}"
    if (backend, runtime, mode) not in SUPPORTED:
        return f"{release} cannot measure {mode} with {_path(cell)}"
    if cell.precision not in SUPPORTED[backend, runtime, mode]:
        return f"{release} cannot run {cell.precision} with {_path(cell)} in mode {mode}"
    return None
