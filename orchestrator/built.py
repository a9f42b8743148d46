"""Which runtimes there are on each backend, and what this release has built. Pure data."""

from collections.abc import Mapping, Set
from types import MappingProxyType

from runner.cell import Backend, Mode, Precision, Runtime

RUNTIMES: Mapping[Backend, tuple[Runtime, ...]] = {
    "cpu": ("torch", "torch_compile", "onnxruntime"),
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

_Built = Mapping[tuple[Backend, Runtime, Mode], Set[Precision]]
_FLOATS: tuple[Precision, ...] = ("fp32", "bf16", "fp16")
_EAGER: tuple[Mode, ...] = ("inference", "generation", "startup")
_COMPILED: tuple[Mode, ...] = ("inference", "startup")


def _on(
    backend: Backend, runtime: Runtime, modes: tuple[Mode, ...], *precisions: Precision
) -> dict[tuple[Backend, Runtime, Mode], Set[Precision]]:
    return {(backend, runtime, mode): frozenset(precisions) for mode in modes}


BUILT: _Built = MappingProxyType(
    _on("cpu", "torch", _EAGER, *_FLOATS, "int8")
    | _on("cpu", "torch", ("training",), "fp32", "bf16")
    | _on("cpu", "torch_compile", _COMPILED, *_FLOATS)
    | _on("cpu", "torch_compile", ("training",), "fp32", "bf16")
    | _on("cpu", "onnxruntime", _EAGER, "fp32", "int8")
    | _on("cuda", "torch", _EAGER, *_FLOATS, "int8")
    | _on("cuda", "torch", ("training",), "fp32", "bf16")
    | _on("cuda", "torch_compile", _COMPILED, *_FLOATS)
    | _on("cuda", "torch_compile", ("training",), "fp32", "bf16")
    | _on("cuda", "onnxruntime", _EAGER, "fp32", "fp16")
    | _on("rocm", "torch", _EAGER, *_FLOATS)
    | _on("rocm", "torch", ("training",), "fp32", "bf16")
    | _on("rocm", "torch_compile", _COMPILED, *_FLOATS)
    | _on("rocm", "torch_compile", ("training",), "fp32", "bf16")
    | _on("mps", "torch", _EAGER, *_FLOATS)
    | _on("mps", "torch", ("training",), "fp32", "bf16")
    | _on("openvino", "openvino", _COMPILED, *_FLOATS, "int8")
    | _on("openvino", "openvino", ("generation",), *_FLOATS)
    | _on("qnn", "onnxruntime", ("inference",), "fp16", "int8")
)
"""The precisions that this release can run. The fake backend, for tests, runs everything."""

_NOT_WHOLE = "this runner multiplies whole numbers in torch on CPUs and with CUDA alone"
_PACKED = (
    "the quantised layers of torch.ao hold packed weights, which torch.compile leaves to eager mode"
)
LACKS: Mapping[tuple[Backend, Runtime], Mapping[Precision, str]] = {
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
    ("cpu", "torch_compile"): {"int8": _PACKED},
    ("rocm", "torch_compile"): {"int8": _NOT_WHOLE},
    ("rocm", "torch"): {"int8": _NOT_WHOLE},
    ("mps", "torch"): {"int8": _NOT_WHOLE},
}
"""Precisions that a runtime cannot compute in on a backend, each with the reason."""

REFUSES: Mapping[tuple[Runtime, Mode], str] = {
    ("torch_compile", "generation"): "with fixed shapes every token would be compiled anew, as the "
    "key-value cache grows",
    ("openvino", "training"): "OpenVINO executes inference graphs only",
    ("onnxruntime", "training"): "ONNX Runtime executes inference graphs only",
    ("onnxruntime_web", "training"): "ONNX Runtime Web executes inference graphs only",
}
"""Modes that a runtime cannot have, each with the reason."""
