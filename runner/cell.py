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
Scenario = Literal["single_stream", "offline", "server"]
ProfileName = Literal["quick", "standard", "audit"]
Purpose = Literal["measure", "verify", "time", "reference", "prepare"]

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
    """Samples in one query; the scenario `offline` begins its search there."""
    sequence_length: PositiveInt | None
    """Tokens in one sample, those of the prompt; null for models that take no text."""
    image_size: PositiveInt | None = None
    """Height and width of an image, pixels; null for models that fix it or take none."""
    audio_seconds: PositiveInt | None = None
    """Seconds of sound in one sample; null for models that fix it or take none."""
    new_tokens: PositiveInt | None = None
    """Tokens to generate for each sample; null unless the mode is `generation`."""
    mode: Mode
    """What is measured."""
    scenario: Scenario = "single_stream"
    """How queries arrive; modes other than `inference` know `single_stream` alone."""
    target_qps: PositiveFloat | None = None
    """Queries per second that the scenario `server` offers; null: the highest rate is sought."""
    slo_ms: PositiveFloat | None = None
    """Milliseconds that 99 % of queries must meet at the rate that is sought; else null."""

    @property
    def id(self) -> str:
        """A readable id that globs can select: `cpu-bert-tiny-fp32-b8-s128-inference`."""
        return "-".join(filter(None, (self._stem, self.shape, self.mode, self.pattern)))

    @property
    def shape(self) -> str:
        """The sizes in the id, e.g. `b8-s128` or `b1-s128-n32`; offline finds its own batch."""
        sizes = (
            ("b", None if self.scenario == "offline" else self.batch_size),
            ("s", self.sequence_length),
            ("i", self.image_size),
            ("a", self.audio_seconds),
            ("n", self.new_tokens),
        )
        return "-".join(f"{letter}{size}" for letter, size in sizes if size is not None)

    @property
    def pattern(self) -> str:
        """The scenario in the id: empty, `offline`, `server-q50` or `server-peak-slo100`."""
        if self.scenario == "single_stream":
            return ""
        if self.scenario == "offline":
            return "offline"
        rate = f"peak-slo{self.slo_ms:g}" if self.seeks_peak else f"q{self.target_qps:g}"
        return f"server-{rate}"

    @property
    def seeks_peak(self) -> bool:
        """Whether the highest rate is sought that meets `slo_ms`."""
        return self.scenario == "server" and self.target_qps is None

    @property
    def job_id(self) -> str:
        """The id of the job that executes this cell: what its cells have in common.

        A cold start shares its job with none, as no other cell's model may be loaded beside it.
        """
        return self.id if self.mode == "startup" else f"{self._stem}-{self.mode}"

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
    precision_target: PositiveFloat
    """Half the width of the median's 95 % interval, by the median, at which measuring may end."""
    rounds: PositiveInt = 1
    """Visits over which each cell's iterations are spread, so that drift shows."""
    workers: PositiveInt | None = None
    """Processes that load at once in mode `startup`; null takes as many as there are cores."""


PROFILES: Mapping[ProfileName, Measure] = {
    "quick": Measure(
        profile="quick",
        warmup_iterations=3,
        warmup_max_s=6,
        iterations=5,
        min_s=3,
        max_s=30,
        precision_target=0.05,
    ),
    "standard": Measure(
        profile="standard",
        warmup_iterations=5,
        warmup_max_s=30,
        iterations=20,
        min_s=30,
        max_s=300,
        precision_target=0.02,
    ),
    "audit": Measure(
        profile="audit",
        warmup_iterations=10,
        warmup_max_s=120,
        iterations=64,
        min_s=600,
        max_s=3600,
        precision_target=0.01,
    ),
}


class Limits(Frozen):
    """What a job may use."""

    cell_timeout_s: PositiveFloat | None = None
    """Seconds that loading, and then each cell, may take; null follows from what is measured."""
    memory_bytes: PositiveInt | None = None
    """Bytes of memory a job may use; null leaves a safety margin below the machine's memory."""
    cpus: PositiveFloat | None = None
    """CPU cores a job may use, whole ones outside containers; null allows all of them."""
    pids: PositiveInt = 4096
    """Processes and threads a container may create; local processes are not limited."""

    def timeout_s(self, measure: Measure) -> float:
        """Seconds that loading, and then each cell measured like this, may take.

        Unless it is set: 10 minutes, or as long as warm-up and twice the steady phase may take,
        since untimed work lies between the iterations, and 5 minutes for all else.
        """
        if self.cell_timeout_s is not None:
            return self.cell_timeout_s
        return max(600, measure.warmup_max_s + 2 * measure.max_s + 300)


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
    """The cells that one container executes: they share a loaded model and a mode."""

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
    purpose: Purpose = "measure"
    """`measure` times and verifies, `time` and `verify` do one of it; `reference` computes what
    others are verified against, `prepare` exports the graph that others execute."""
    trace: bool = False
    """Whether each cell leaves a trace of one untimed iteration."""
    round: PositiveInt = 1
    """Which of the measure's rounds this launch is."""
    graph: str | None = None
    """The folder, among the prepared graphs, that holds this job's; null for runtimes that build
    the model themselves."""
    reference: str | None = None
    """The file, among the references and without suffix, that this job's outputs are compared
    with; null where nothing is verified."""

    @property
    def timeout_s(self) -> float:
        """Seconds that loading, and then each cell, may take."""
        return self.limits.timeout_s(self.measure)
