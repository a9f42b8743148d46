"""The ways to a device that the synthetic laboratory measures."""

from dataclasses import dataclass

from runner.contract.cell import Backend, Precision, Runtime


@dataclass(frozen=True)
class Path:
    """One backend with one of its runtimes."""

    backend: Backend
    runtime: Runtime
    precisions: tuple[Precision, ...]
    speed: float
    """Speed relative to torch on a CPU."""
    floor_ms: float
    """Least duration of a query, milliseconds."""
    libraries: tuple[str, ...]

    @property
    def accelerated(self) -> bool:
        """True if it needs a GPU."""
        return self.backend == "cuda"


PATHS = (
    Path("cpu", "torch", ("fp32", "bf16"), 1.0, 0.4, ("torch", "transformers")),
    Path("cpu", "onnxruntime", ("fp32", "int8"), 1.5, 0.05, ("onnxruntime", "numpy")),
    Path("openvino", "openvino", ("fp32", "int8"), 1.8, 0.06, ("openvino", "numpy")),
    Path("cuda", "torch", ("fp32", "fp16"), 24.0, 1.1, ("torch", "transformers")),
    Path("cuda", "onnxruntime", ("fp32", "fp16"), 30.0, 0.25, ("onnxruntime", "numpy")),
)
