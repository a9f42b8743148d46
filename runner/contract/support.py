"""Supported combinations, and the reasons why others are not: read by host and runner alike."""

from collections.abc import Mapping, Set
from types import MappingProxyType

from runner import __version__
from runner.contract.axes import IN_CHILDREN, RUNTIMES, SIZE_AXES, Backend, Mode, Precision, Runtime
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.models import AxisRange, ModelSpec, prompt_length, refusal
from runner.contract.reasons import Reason, ReasonCode, reason

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
    | _on("cpu", "torch_compile", (*_COMPILED, "training"), *_FLOATS)
    | _on("cpu", "onnxruntime", _EAGER, "fp32", "int8")
    | _on("cuda", "torch", _EAGER, *_FLOATS, "int8")
    | _on("cuda", "torch", ("training",), *_FLOATS)
    | _on("cuda", "torch_compile", (*_COMPILED, "training"), *_FLOATS)
    | _on("cuda", "onnxruntime", _EAGER, "fp32", "fp16")
    | _on("rocm", "torch", (*_EAGER, "training"), *_FLOATS)
    | _on("rocm", "torch_compile", (*_COMPILED, "training"), *_FLOATS)
    | _on("mps", "torch", (*_EAGER, "training"), *_FLOATS)
    | _on("openvino", "openvino", _COMPILED, *_FLOATS, "int8")
    | _on("openvino", "openvino", ("generation",), *_FLOATS)
    | _on("qnn", "onnxruntime", ("inference",), "fp16", "int8")
    | _on("wasm", "onnxruntime_web", _EAGER, "fp32", "int8")
    | _on("webnn", "onnxruntime_web", _EAGER, "fp32")
    | _on("webgpu", "onnxruntime_web", _EAGER, "fp32", "fp16")
)
"""The precisions that this release runs. The fake backend, for tests, runs everything."""

_CPU_ONLY: Mapping[Precision, ReasonCode] = {"bf16": "onnx_cpu_bf16", "fp16": "onnx_cpu_fp16"}
_HTP: Mapping[Precision, ReasonCode] = {"fp32": "htp_fp16", "bf16": "htp_fp16"}
UNSUPPORTED_PRECISION: Mapping[tuple[Backend, Runtime], Mapping[Precision, ReasonCode]] = {
    ("cpu", "onnxruntime"): _CPU_ONLY,
    ("cuda", "onnxruntime"): {"bf16": "onnx_cuda_bf16", "int8": "onnx_cuda_int8"},
    ("qnn", "onnxruntime"): _HTP,
    ("wasm", "onnxruntime_web"): _CPU_ONLY,
    ("webnn", "onnxruntime_web"): {
        "bf16": "webnn_bf16",
        "fp16": "webnn_fp16",
        "int8": "webnn_int8",
    },
    ("webgpu", "onnxruntime_web"): {"bf16": "webgpu_bf16", "int8": "webgpu_int8"},
    ("cpu", "torch_compile"): {"int8": "packed_weights"},
    ("rocm", "torch_compile"): {"int8": "torch_int8"},
    ("rocm", "torch"): {"int8": "torch_int8"},
    ("mps", "torch"): {"int8": "torch_int8"},
}
"""The reasons why a runtime cannot compute in a precision on a backend."""

UNSUPPORTED_MODE: Mapping[tuple[Runtime, Mode], ReasonCode] = {
    ("torch_compile", "generation"): "growing_cache",
    ("openvino", "training"): "openvino_inference_only",
    ("onnxruntime", "training"): "onnx_inference_only",
    ("onnxruntime_web", "training"): "onnx_web_inference_only",
}
"""The reasons why a runtime cannot have a mode."""

UNSUPPORTED_BACKEND: Mapping[tuple[Backend, Runtime], ReasonCode] = {
    ("rocm", "onnxruntime"): "onnx_no_rocm",
    ("mps", "onnxruntime"): "onnx_no_mps",
    ("openvino", "onnxruntime"): "onnx_no_openvino",
}
"""The reasons why a runtime has no device of a backend in this release."""
UNTRAINED_PRECISION: Mapping[Precision, ReasonCode] = {"int8": "no_gradients"}
"""The reasons why no model is trained in a precision."""


def mode_error(cell: Cell, mode: Mode) -> Unsupported:
    cause = reason(UNSUPPORTED_MODE.get((cell.runtime, mode), "release_lacks"))
    return Unsupported(reason("mode_refused", mode=mode, **_path(cell), cause=cause))


def precision_error(cell: Cell) -> Unsupported:
    path = (cell.backend, cell.runtime)
    code = UNSUPPORTED_PRECISION.get(path, {}).get(cell.precision)
    code = code or UNSUPPORTED_BACKEND.get(path, "release_lacks")
    return Unsupported(_refused_precision(cell, code))


def training_error(precision: Precision) -> Unsupported:
    return Unsupported(_untrained(precision))


_RANGED = tuple(name for name in SIZE_AXES if name in ModelSpec.model_fields)
"""The sizes of which models say what they take."""


def why_not_shape(cell: Cell, model: ModelSpec) -> Reason | None:
    """The first of the cell's sizes that the model doesn't take, an image's first; None if none."""
    for axis in _RANGED:
        allowed: AxisRange | None = getattr(model, axis)
        size: int | None = getattr(cell, axis)
        refused = allowed and size is not None and refusal(cell.model, axis, allowed, size)
        if refused:
            return refused
    if explanation := _too_long(cell, model):
        return explanation
    most, new = model.max_new_tokens, cell.new_tokens
    if most is not None and new is not None and new > most:
        return reason("too_many_new_tokens", model=cell.model, most=most, new=new)
    return None


def _too_long(cell: Cell, model: ModelSpec) -> Reason | None:
    """A decoder's new tokens take places behind the prompt; behind an encoder they don't."""
    longest, length = model.max_sequence_length, cell.sequence_length
    if longest is None or length is None:
        return None
    of_images = (prompt_length(model, cell) or length) - length if model.image_prompt else 0
    new = 0 if model.encoder_decoder else cell.new_tokens or 0
    if length + of_images + new <= longest:
        return None
    facts = {"tokens": length, "of_images": of_images or None, "new": new or None}
    return reason("too_many_tokens", model=cell.model, most=longest, **facts)


_GENERATING_TASKS = frozenset(
    {
        *("text-generation", "text2text-generation", "translation", "summarization"),
        *("image-to-text", "image-text-to-text", "video-text-to-text", "audio-text-to-text"),
        "any-to-any",
    }
)
"""Tasks of decoders, in Hugging Face's words; a model with encoder and decoder always generates."""


def why_not(cell: Cell, model: ModelSpec) -> Reason | None:
    """The reason why the cell can't run with this release on any machine; None if it can."""
    if explanation := why_not_shape(cell, model):
        return explanation
    if cell.backend == "fake":
        return _wrong_runtime(cell)
    return _impossible(cell, model) or _unsupported(cell)


def _impossible(cell: Cell, model: ModelSpec) -> Reason | None:
    if explanation := _wrong_runtime(cell):
        return explanation
    if code := UNSUPPORTED_MODE.get((cell.runtime, cell.mode)):
        return reason("mode_refused", mode=cell.mode, **_path(cell), cause=reason(code))
    if cell.scenario == "server" and cell.runtime in IN_CHILDREN:
        cause = reason("page_times_itself")
        return reason("scenario_refused", scenario="server", **_path(cell), cause=cause)
    if cell.mode == "training" and (explanation := _untrainable(cell, model)):
        return explanation
    if cell.mode == "generation" and not generates(model):
        return reason("not_generating", model=cell.model, task=model.task)
    code = UNSUPPORTED_PRECISION.get((cell.backend, cell.runtime), {}).get(cell.precision)
    return _refused_precision(cell, code) if code else None


def _refused_precision(cell: Cell, code: ReasonCode) -> Reason:
    facts = {"precision": cell.precision, **_path(cell)}
    return reason("precision_refused", **facts, cause=reason(code))


def _untrainable(cell: Cell, model: ModelSpec) -> Reason | None:
    if cell.precision in UNTRAINED_PRECISION:
        return _untrained(cell.precision)
    if not model.trains:
        return reason("training_without_labels", model=cell.model)
    if model.contrastive and cell.batch_size < 2:
        return reason("training_contrastive", model=cell.model)
    return None


def _untrained(precision: Precision) -> Reason:
    cause = reason(UNTRAINED_PRECISION[precision])
    return reason("training_refused", precision=precision, cause=cause)


def generates(model: ModelSpec) -> bool:
    return model.encoder_decoder or model.task in _GENERATING_TASKS


def _path(cell: Cell) -> dict[str, str]:
    return {"runtime": cell.runtime, "backend": cell.backend}


def _wrong_runtime(cell: Cell) -> Reason | None:
    runtimes = RUNTIMES[cell.backend]
    if cell.runtime in runtimes:
        return None
    code: ReasonCode = "openvino_elsewhere" if cell.runtime == "openvino" else "runtime_elsewhere"
    return reason(code, **_path(cell), runtimes=", ".join(runtimes))


def _unsupported(cell: Cell) -> Reason | None:
    backend, runtime, mode = cell.backend, cell.runtime, cell.mode
    supported = [key for key in SUPPORTED if key[0] == backend]
    facts = {"version": __version__, **_path(cell)}
    if not any(key[1] == runtime for key in supported):
        return reason("no_runner", **facts)
    if (backend, runtime, mode) not in SUPPORTED:
        return reason("mode_not_measured", mode=mode, **facts)
    if cell.precision not in SUPPORTED[backend, runtime, mode]:
        return reason("precision_not_run", precision=cell.precision, mode=mode, **facts)
    return None
