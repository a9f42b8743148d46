"""What comes out: one record per cell, one Parquet row per record."""

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AwareDatetime, NonNegativeInt, ValidationError

from runner.cell import Backend, Cell, Frozen, Job, Mode, Precision, Runtime
from runner.errors import RecordError, RecordNotSaved
from runner.models import Family, Modality

SCHEMA_VERSION = 1
"""Raised with every change of the columns:

- 1 (2026-11-21): the first schema.
"""

Status = Literal["ok", "unsupported", "unavailable", "out_of_memory", "timeout", "failed", "lost"]
Proof = Literal["proven", "partial", "contradicted", "none"]
Phase = Literal["plan", "load", "first", "warmup", "steady"]


class Record(Frozen):
    """Measurement, cell, environment and outcome, in base units. Null says `not known`."""

    schema_version: int = SCHEMA_VERSION
    """Version of these columns."""
    run_id: str
    """The invocation of `orchestrator run` that planned the cell."""
    job_id: str
    """The job that executed it."""
    cell_id: str
    """The cell's readable id."""
    recorded_at: AwareDatetime
    """When the record was written, UTC."""

    model: str
    """Name of the model."""
    family: Family
    """What the model is for."""
    task: str
    """The model's task in Hugging Face's words."""
    modality: Modality
    """What a sample consists of."""
    backend: Backend
    """The hardware path."""
    runtime: Runtime
    """The software that executed the graph."""
    precision: Precision
    """Number format of weights and arithmetic."""
    batch_size: int
    """Samples in one query."""
    sequence_length: int | None
    """Tokens in one sample; null for models that take no text."""
    mode: Mode
    """What was measured."""
    seed: int
    """Seed of weights and inputs."""
    profile: str
    """The measurement profile asked for."""

    status: Status
    """How the cell ended."""
    reason: str | None = None
    """Why, unless it ended well."""
    phase: Phase | None = None
    """The phase in which it ended, unless it ended well."""
    log: str | None = None
    """File with the trace, beside the records: `<job_id>/<cell_id>.log`."""
    proof: Proof = "none"
    """Whether there is evidence that the claimed device did the work."""
    evidence: dict[str, str] | None = None
    """The facts behind `proof`."""
    warnings: list[str] | None = None
    """What makes the numbers less trustworthy, each with its remedy."""

    parameters: int | None = None
    """Parameters of the model, counted after it was built."""
    import_time_s: float | None = None
    """Seconds to import the runtime, before `load`."""
    load_time_s: float | None = None
    """Seconds to build the model, fill its weights and move it to the device."""
    first_latency_s: float | None = None
    """Seconds of the first query at this shape."""
    warmup_iterations: int | None = None
    """Queries between the first one and the steady phase."""
    warmup_time_s: float | None = None
    """Seconds the warm-up took."""
    warmup_settled: bool | None = None
    """Whether the warm-up's last two windows agreed."""
    iterations: int | None = None
    """Timed queries of the steady phase."""
    steady_time_s: float | None = None
    """Sum of the timed queries, seconds."""
    latency_mean_s: float | None = None
    """Arithmetic mean of the iterations, seconds per query."""
    latency_median_s: float | None = None
    """Median of the iterations, seconds per query."""
    latency_min_s: float | None = None
    """Fastest iteration, seconds per query."""
    latency_max_s: float | None = None
    """Slowest iteration, seconds per query."""
    latency_stddev_s: float | None = None
    """Sample standard deviation of the iterations, seconds; null with fewer than two."""
    latency_p90_s: float | None = None
    """90th percentile, seconds per query; null when there are too few iterations to support it."""
    latency_p90_iterations_needed: int | None = None
    """Iterations that support the 90th percentile at 99 % confidence."""
    throughput: float | None = None
    """Samples per second: batch_size × iterations / steady_time_s."""
    timed_region: str | None = None
    """What lies between the two clock readings of an iteration."""
    clock_resolution_s: float | None = None
    """Smallest step of the clock that was observed, seconds."""
    memory_peak_bytes: int | None = None
    """Highest memory use while the cell ran, bytes."""
    memory_average_bytes: int | None = None
    """Mean of the memory use sampled between iterations, bytes."""
    memory_load_peak_bytes: int | None = None
    """Highest memory use while the model was loaded, bytes."""
    memory_method: str | None = None
    """How memory was measured."""

    hardware_id: str | None = None
    """Hash of the facts that identify the machine and its device."""
    device_name: str | None = None
    """The physical device the backend found."""
    cpu_model: str | None = None
    """The processor's name."""
    cpu_flags: list[str] | None = None
    """The processor's feature flags."""
    cpu_cores_physical: int | None = None
    """Physical cores of the machine."""
    cpu_cores_logical: int | None = None
    """Hardware threads of the machine."""
    cpu_governor: str | None = None
    """Frequency governor; null where the kernel shows none."""
    cpu_affinity: list[int] | None = None
    """Logical CPUs the process could run on."""
    memory_total_bytes: int | None = None
    """Memory of the machine, bytes."""
    machine: str | None = None
    """Instruction set, e.g. `x86_64`."""
    operating_system: str | None = None
    """Operating system the runner saw."""
    kernel: str | None = None
    """Kernel release."""
    hostname: str | None = None
    """The host's name, as the orchestrator saw it."""
    load_average_1m: float | None = None
    """Mean number of runnable threads over the last minute, when the cell started."""
    container_memory_limit_bytes: int | None = None
    """Memory limit of the control group, bytes; null when there is none."""
    container_cpu_limit: float | None = None
    """CPU quota of the control group, cores; null when there is none."""
    threads: int | None = None
    """Threads the runtime used for one operator."""
    python_version: str | None = None
    """Version of the Python interpreter."""
    libraries: dict[str, str] | None = None
    """Versions of the libraries that took part."""

    launcher: str
    """Where the job executed: `docker` or `process`."""
    image: str | None = None
    """Name and tag of the image."""
    image_digest: str | None = None
    """`sha256:…` of the image that executed."""
    image_labels: dict[str, str] | None = None
    """Labels of the image."""
    git_commit: str | None = None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""
    runner_version: str | None = None
    """Version of the runner that executed the cell."""
    orchestrator_version: str
    """Version of the orchestrator that planned the cell."""

    warmup_durations_ns: list[NonNegativeInt] | None = None
    """Raw durations of the first query and the warm-up, nanoseconds, in order."""
    durations_ns: list[NonNegativeInt] | None = None
    """Raw durations of the iterations, nanoseconds, in order."""

    @classmethod
    def of(cls, job: Job, cell: Cell, **outcome: Any) -> Self:
        """A record of this cell: what the job knows of it, and its outcome."""
        known = {
            **cell.model_dump(),
            **job.provenance.model_dump(),
            "run_id": job.run_id,
            "job_id": job.id,
            "cell_id": cell.id,
            "recorded_at": datetime.now(UTC),
            "family": job.model.family,
            "task": job.model.task,
            "modality": job.model.modality,
            "seed": job.seed,
            "profile": job.measure.profile,
        }
        return cls.model_validate(known | outcome)


def save_record(record: Record, folder: Path) -> Path:
    """Write the record to `<folder>/<cell_id>.parquet`, whole or not at all; returns that path.

    Raises:
        RecordNotSaved: the file system refused, e.g. because the disk is full.
    """
    path = folder / f"{record.cell_id}.parquet"
    unfinished = folder / f".{record.cell_id}.parquet.tmp"
    try:
        with unfinished.open("wb") as file:
            pq.write_table(to_table([record]), file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError as error:
        unfinished.unlink(missing_ok=True)
        raise RecordNotSaved(
            f"{path}: cannot be written: {error.strerror or error}",
            hint="free some space; `orchestrator run --resume last` measures what is missing",
        ) from error
    return path


def read_record(path: Path) -> Record:
    """The one record in that file.

    Raises:
        OSError: the file cannot be read.
        RecordError: it is not a whole record file of this schema.
    """
    content = pa.BufferReader(path.read_bytes())
    try:
        # On one thread, since a pool's thread that lets go of a buffer while Python ends aborts.
        table = pq.ParquetFile(content).read(use_threads=False)
        (row,) = table.to_pylist(maps_as_pydicts="strict")
        return Record.model_validate(row)
    except (OSError, pa.ArrowException, ValidationError, ValueError) as error:
        summary = str(error).splitlines()[0]
        raise RecordError(f"{path}: not a whole record file: {summary}") from error


def arrow_schema() -> pa.Schema:
    """The Arrow schema of a record file, derived from `Record`'s fields and their docstrings."""
    fields = [
        pa.field(name, _arrow_type(info.annotation), metadata={"doc": info.description or ""})
        for name, info in Record.model_fields.items()
    ]
    return pa.schema(fields, metadata={"accelmatrix.schema_version": str(SCHEMA_VERSION)})


def to_table(records: list[Record]) -> pa.Table:
    """The records as an Arrow table with one row each."""
    return pa.Table.from_pylist([record.model_dump() for record in records], arrow_schema())


_ARROW_TYPES: dict[Any, pa.DataType] = {
    str: pa.string(),
    int: pa.int64(),
    float: pa.float64(),
    bool: pa.bool_(),
    AwareDatetime: pa.timestamp("us", tz="UTC"),
}


def _arrow_type(annotation: Any) -> pa.DataType:
    if annotation in _ARROW_TYPES:
        return _ARROW_TYPES[annotation]
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return pa.string()
    if origin is list:
        return pa.list_(_arrow_type(arguments[0]))
    if origin is dict:
        return pa.map_(_arrow_type(arguments[0]), _arrow_type(arguments[1]))
    return _arrow_type(next(argument for argument in arguments if argument is not type(None)))
