"""One measurement, or one failure, as a foreign file tells it."""

from typing import Annotated

from pydantic import AwareDatetime, Field

from runner.cell import Frozen
from runner.record import Status

_LARGEST = 2**63 - 1
Positive = Annotated[int, Field(gt=0, le=_LARGEST)]
Whole = Annotated[int, Field(ge=0, le=_LARGEST)]
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Seconds = Number


class Found(Frozen):
    """What the file says, in base units, under the names of our columns; null: it does not say.

    Nothing is derived: no throughput from a latency, no median from a mean, no precision from a
    habit. Numbers whose unit the file does not make clear go into `details`, not into a column.
    """

    place: str
    """Where in the file it stands: a JSON pointer, or `line 12`."""
    model: str
    """The model as the file names it, e.g. a hub id."""
    family: str | None = None
    task: str | None = None
    modality: str | None = None
    backend: str | None = None
    """The hardware path in lower case, e.g. `cpu`, `cuda`, `webgpu`; need not be one of ours."""
    runtime: str | None = None
    """The software that executed it, e.g. `torch`; need not be one of ours."""
    precision: str | None = None
    batch_size: Positive | None = None
    sequence_length: Positive | None = None
    image_size: Positive | None = None
    audio_seconds: Positive | None = None
    new_tokens: Positive | None = None
    mode: str | None = None
    """`inference`, `generation`, `training` or `startup`, where the file makes it clear."""
    scenario: str | None = None

    status: Status
    reason: str | None = None
    """Why it did not end well, shortened to a few lines."""
    simulated: bool = False
    """Whether the file or the entry carries a mark that no device made the numbers."""
    marks: tuple[str, ...] = ()
    """Those marks with their places, e.g. `/is_simulation: true`."""

    measured_at: AwareDatetime | None = None
    """When it was measured; a time without a zone is taken as UTC, and `details` says so."""
    device_name: str | None = None
    cpu_model: str | None = None
    cpu_cores_physical: Positive | None = None
    cpu_cores_logical: Positive | None = None
    memory_total_bytes: Positive | None = None
    machine: str | None = None
    hostname: str | None = None
    operating_system: str | None = None
    python_version: str | None = None
    libraries: dict[str, str] = Field(default_factory=dict)

    iterations: Whole | None = None
    warmup_iterations: Whole | None = None
    parameters: Whole | None = None
    import_time_s: Seconds | None = None
    load_time_s: Seconds | None = None
    first_latency_s: Seconds | None = None
    steady_time_s: Seconds | None = None
    throughput: Number | None = None
    """Samples per second."""
    token_throughput: Number | None = None
    """New tokens per second, prefill included."""
    decode_throughput: Number | None = None
    """Tokens per second after the first."""
    latency_mean_s: Seconds | None = None
    latency_median_s: Seconds | None = None
    latency_min_s: Seconds | None = None
    latency_max_s: Seconds | None = None
    latency_stddev_s: Seconds | None = None
    latency_p50_s: Seconds | None = None
    latency_p90_s: Seconds | None = None
    latency_p95_s: Seconds | None = None
    latency_p99_s: Seconds | None = None
    latency_p999_s: Seconds | None = None
    time_to_first_token_mean_s: Seconds | None = None
    time_per_output_token_mean_s: Seconds | None = None
    memory_peak_bytes: Whole | None = None
    memory_average_bytes: Whole | None = None
    memory_device_peak_bytes: Whole | None = None
    memory_allocator_peak_bytes: Whole | None = None
    energy_joules: Number | None = None
    energy_per_sample_joules: Number | None = None
    durations_ns: tuple[Whole, ...] | None = None
    """Raw durations in the file's order, where it holds them."""
    part_durations_ns: dict[str, tuple[Whole, ...]] = Field(default_factory=dict)
    """The same of an iteration's parts by name, e.g. `first_token`."""

    details: dict[str, str] = Field(default_factory=dict)
    """What the file says beside that and no column takes, by its own (dotted) names."""
