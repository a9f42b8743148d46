"""Where ONNX Runtime's sessions execute, what it takes to place them there, what it can't do."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from runner.cell import Backend, Cell, Precision
from runner.errors import Unsupported
from runner.measure.environment import read_environment

CPU = "CPUExecutionProvider"

NO_PROVIDER: Mapping[Backend, str] = {
    "rocm": "its releases have no ROCm provider any more, and its provider for MIGraphX comes in "
    "a package of its own",
    "mps": "it has a provider for Core ML, none for MPS",
    "openvino": "its OpenVINO provider comes in a package of its own; the runtime openvino "
    "executes the same graph",
}
"""Why backends that other runtimes know have no device here."""

_COMPUTED_IN_FP32 = "ONNX Runtime's CPU provider computes fp16 graphs in fp32, between casts"
_NO_BF16 = "ONNX Runtime's CPU provider has no bf16 kernels for matrix products"
_HTP_FP16 = "the HTP computes in fp16 whatever floating-point graph it is given"

LACKS: Mapping[tuple[Backend, Precision], str] = {
    ("cpu", "fp16"): _COMPUTED_IN_FP32,
    ("cpu", "bf16"): _NO_BF16,
    ("cuda", "bf16"): "no graph is prepared in bf16, of which ONNX Runtime's CUDA provider has "
    "kernels for a part of the operators only",
    ("cuda", "int8"): "dynamically quantized graphs need DynamicQuantizeLinear, "
    "which ONNX Runtime's CUDA provider lacks",
    ("qnn", "fp32"): _HTP_FP16,
    ("qnn", "bf16"): _HTP_FP16,
}
"""Precisions that are not to be had on a backend, each with the reason."""

COMPUTES: Mapping[tuple[Backend, Precision], str] = {
    ("cpu", "fp32"): "float32",
    ("cpu", "int8"): "int8 products of quantized layers, float32 elsewhere",
    ("cuda", "fp32"): "float32, TF32 off",
    ("cuda", "fp16"): "float16",
    ("qnn", "fp16"): "float16",
    ("qnn", "int8"): "fixed point between quantizing nodes",
}
"""In which numbers a session computes."""


@dataclass(frozen=True)
class OnnxDevice:
    """A device and how a session is placed there."""

    claimed: Backend
    """The backend whose device this is."""
    name: str
    """The physical device."""
    provider: str
    """The execution provider that must do the work."""
    options: Mapping[str, str] = field(default_factory=dict)
    """The provider's options."""
    memory: str = "cpu"
    """Where inputs and outputs lie, in ONNX Runtime's words."""
    index: int = 0
    """Which of the devices of that memory."""
    plugins: tuple[Any, ...] = ()
    """The devices of a provider that comes as a plugin; empty for those that are built in."""
    uuid: str | None = None
    """Which of a maker's devices it is; None where nobody tells."""
    is_simulated: bool = False
    """Whether it is none: its results count, its times say nothing."""
    compiles: bool = False
    """Whether it compiles a graph whole: then all sizes must be fixed."""
    used_bytes: Callable[[], int] | None = None
    """Reads how much of its own memory is in use; None where that is the host's."""

    @property
    def is_accelerator(self) -> bool:
        """Whether nodes on the CPU provider are not what was asked for."""
        return self.provider != CPU


def precision_of(cell: Cell) -> str:
    """In which numbers a session of the cell computes.

    Raises:
        Unsupported: not in those that the cell asks for.
    """
    asked = (cell.backend, cell.precision)
    if asked in COMPUTES:
        return COMPUTES[asked]
    lack = LACKS.get(asked) or NO_PROVIDER.get(cell.backend, "nobody tried")
    raise Unsupported(f"{cell.precision} is not possible with onnxruntime on {asked[0]}: {lack}")


def cpu_device() -> OnnxDevice:
    """The processor."""
    return OnnxDevice("cpu", read_environment().cpu_model, CPU)
