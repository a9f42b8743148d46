"""What goes in: a cell of the matrix, and the job that carries cells into a container."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, NonNegativeFloat, PositiveFloat, PositiveInt

from runner.models import ModelSpec

Backend = Literal[
    "cpu", "cuda", "rocm", "mps", "openvino", "qnn", "webnn", "webgpu", "wasm", "fake"
]
Runtime = Literal["torch", "torch_compile", "onnxruntime", "openvino", "onnxruntime_web", "fake"]
Precision = Literal["fp32", "bf16", "fp16", "int8"]
Mode = Literal["inference", "generation", "training", "startup"]
ProfileName = Literal["quick", "standard", "audit"]

DEFAULT_RUNTIMES: Mapping[Backend, Runtime] = {
    "cpu": "torch",
    "cuda": "torch",
    "rocm": "torch",
    "mps": "torch",
    "openvino": "openvino",
    "qnn": "onnxruntime",
    "webnn": "onnxruntime_web",
    "webgpu": "onnxruntime_web",
    "wasm": "onnxruntime_web",
    "fake": "fake",
}


class Frozen(BaseModel):
    """A value: immutable, strict about unknown fields, documented field by field."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)


class Cell(Frozen):
    """One point of the matrix. It knows nothing of machines."""

    model: str
    """Name of a catalogued or custom model."""
    backend: Backend
    """The hardware path."""
    runtime: Runtime
    """The software that executes the graph."""
    precision: Precision
    """Number format of weights and arithmetic."""
    batch_size: PositiveInt
    """Samples in one query."""
    sequence_length: PositiveInt | None
    """Tokens in one sample; null for models that take no text."""
    mode: Mode
    """What is measured."""

    @property
    def id(self) -> str:
        """A readable id that globs can select: `cpu-bert-tiny-fp32-b8-s128-inference`."""
        return f"{self._stem}-{self.shape}-{self.mode}"

    @property
    def shape(self) -> str:
        """What tells the cells of a job apart: `b8-s128`."""
        if self.sequence_length is None:
            return f"b{self.batch_size}"
        return f"b{self.batch_size}-s{self.sequence_length}"

    @property
    def job_id(self) -> str:
        """The id of the job that executes this cell: the cell id without its shape."""
        return f"{self._stem}-{self.mode}"

    @property
    def _stem(self) -> str:
        default = self.runtime == DEFAULT_RUNTIMES[self.backend]
        path = self.backend if default else f"{self.backend}-{self.runtime}"
        return f"{path}-{self.model}-{self.precision}"


class Measure(Frozen):
    """How long and how often a cell is measured."""

    profile: ProfileName
    """The named set of defaults these values came from."""
    warmup_iterations: PositiveInt
    """Fewest warm-up iterations, however early the durations settle."""
    warmup_max_s: PositiveFloat
    """Seconds after which warm-up ends even if the durations have not settled."""
    iterations: PositiveInt
    """Fewest timed iterations."""
    min_s: NonNegativeFloat
    """Fewest seconds of timed iterations."""
    max_s: PositiveFloat
    """Seconds after which the steady phase ends, provided one iteration was timed."""


PROFILES: Mapping[ProfileName, Measure] = {
    "quick": Measure(
        profile="quick", warmup_iterations=3, warmup_max_s=6, iterations=5, min_s=3, max_s=30
    ),
    "standard": Measure(
        profile="standard", warmup_iterations=5, warmup_max_s=30, iterations=20, min_s=30, max_s=300
    ),
    "audit": Measure(
        profile="audit",
        warmup_iterations=10,
        warmup_max_s=120,
        iterations=64,
        min_s=600,
        max_s=3600,
    ),
}


class Limits(Frozen):
    """What a job may use."""

    cell_timeout_s: PositiveFloat = 600
    """Seconds that loading, and then each cell, may take."""
    memory_bytes: PositiveInt | None = None
    """Bytes of memory a job may use; null leaves a safety margin below the machine's memory."""
    cpus: PositiveFloat | None = None
    """CPU cores a job may use, whole ones outside containers; null allows all of them."""
    pids: PositiveInt = 4096
    """Processes and threads a container may create; local processes are not limited."""


class Provenance(Frozen):
    """What only the host knows about a job's surroundings."""

    launcher: str
    """Where the job executes: `docker` or `process`."""
    image: str | None = None
    """Name and tag of the image."""
    image_digest: str | None = None
    """`sha256:…` of the image that executed."""
    image_labels: dict[str, str] = Field(default_factory=dict)
    """Labels of the image."""
    hostname: str | None = None
    """The host's name; inside a container it would be the container's."""
    git_commit: str | None = None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""
    orchestrator_version: str
    """Version of the orchestrator that planned the job."""


class Job(Frozen):
    """The cells that one container executes: they differ in shape alone."""

    run_id: str
    """The run this job belongs to."""
    id: str
    """The job's id, unique within its run."""
    model: ModelSpec
    """Everything needed to build the model."""
    cells: tuple[Cell, ...] = Field(min_length=1)
    """The cells, in the order of execution."""
    measure: Measure
    """How long and how often each cell is measured."""
    limits: Limits
    """What the job may use."""
    seed: int
    """Seed of weights and inputs."""
    provenance: Provenance
    """What only the host knows about this job's surroundings."""
