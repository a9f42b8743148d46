"""Columns that say what was asked for, how it was executed and where."""

from typing import Literal

from pydantic import AwareDatetime, NonNegativeInt

from runner.contract.axes import Backend, Mode, Precision, Runtime, Scenario, TrainingPrecision
from runner.contract.cell import Frozen, Purpose
from runner.contract.models import Family, Modality
from runner.contract.record.ranges import AxisSize, Deviation, Finite, NonNegative, Positive


class Identity(Frozen):
    """Columns that identify the cell and its run."""

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
    batch_size: AxisSize
    """Samples in one query; in the scenario `offline` the batch that was found."""
    sequence_length: AxisSize | None
    """Tokens in one sample, those of the prompt; null for models that take no text."""
    image_size: AxisSize | None = None
    """Height and width of an image, pixels; null for models that fix it or take none."""
    audio_seconds: AxisSize | None = None
    """Seconds of sound in one sample; null for models that fix it or take none."""
    new_tokens: AxisSize | None = None
    """Tokens generated for each sample; null unless the mode is `generation`."""
    mode: Mode
    """What was measured."""
    scenario: Scenario = "single_stream"
    """How queries arrived."""
    target_qps: Positive[float] | None = None
    """Queries per second that were offered; null unless the scenario is `server` at a set rate."""
    slo_ms: Positive[float] | None = None
    """Milliseconds that 99 % of queries had to meet; null unless the highest rate was sought."""
    workers: AxisSize | None = None
    """Processes that were to load at once; null unless the mode is `startup` and they were set."""
    training_precision: TrainingPrecision | None = None
    """Number format of parameters, gradients and AdamW's moments: `mixed` is fp32 beside products
    in bf16, `pure` bf16 alone; null unless it trained in bf16."""
    seed: int
    """Seed of the order of execution and of arrivals."""
    weights_seed: int | None = None
    """Seed of weights, inputs, and the references and graphs made from them."""
    profile: str
    """The measurement profile asked for."""
    purpose: Purpose = "measure"
    """What the run did with the cell: timed it, verified its outputs, or both (`measure`)."""
    interleaved_with: str | None = None
    """The run that was measured side by side with this one: the baseline of `run --interleave`;
    null else."""
    side_by_side: str | None = None
    """The group of results that were measured side by side, round by round; null where it was
    measured alone."""
    looks: list[int] | None = None
    """Numbers of rounds, planned beforehand, after which that comparison might end; null
    likewise."""
    model_id: str | None = None
    """Hash of `model_spec`: the same name with another configuration or other weights has another
    one, and the same model under another name or in another folder has the same."""
    model_spec: str | None = None
    """All that decides what the model computes, as JSON."""
    job: str | None = None
    """The job with this cell alone, as JSON, and of its model what `model_spec` lacks: name, path
    and who saved it. Together they are what `orchestrator replay` runs again."""


class RuntimeFacts(Frozen):
    """Facts that only the runtime's session knows."""

    weights_revision: str | None = None
    """Which pretrained weights: `sha256:…` of a folder's tensors, or a hub's commit; else null."""
    graph: str | None = None
    """Prepared graph and its shape; null for runtimes that build the model themselves."""
    graph_sha256: str | None = None
    """Hash over the graph's files."""
    graph_remedy: str | None = None
    """How the graph was exported, e.g. `dynamic shapes`; the ways that failed come before it."""
    graph_attempts: Positive[int] | None = None
    """Ways of exporting it that were tried; the last one went."""
    graph_difference_relative: Deviation | None = None
    """Norm of the graph's difference from torch in fp32 by that one's norm, as it was prepared."""
    quantization: str | None = None
    """How numbers became int8; null for other precisions."""
    inference_precision: str | None = None
    """The precision in which the runtime says it computes, in its own words."""
    compile_time_s: NonNegative[float] | None = None
    """Seconds that compiling the model for the device took; null where nothing is compiled."""
    cached_compile_time_s: NonNegative[float] | None = None
    """The same with a warm cache; null where the runtime has none."""
    execution_options: dict[str, str] | None = None
    """Options that decide how the runtime executes, by its own names."""
    software_device: bool | None = None
    """Whether a program stood in for the device, on the CPU: Qualcomm's HTP simulator, a browser's
    software adapter. Its outputs count, its times say nothing of the backend; null where the
    runtime knows no such program, or nothing was loaded."""
    device_uuid: str | None = None
    """Which of several accelerators it was, by its UUID; null where none is reported."""
    device_clock_hz: NonNegative[float] | None = None
    """The accelerator's clock after the steady phase."""
    device_temperature_c: Finite | None = None
    """The accelerator's temperature after the steady phase, °C."""
    device_throttle_reasons: list[str] | None = None
    """Why the accelerator's clock was held down in the steady phase; empty if it never was; null
    where nothing counts it."""
    device_throttled: dict[str, float] | None = None
    """Largest share of a steady phase in which it was, by the reason."""
    device_power_limit_watts: Positive[float] | None = None
    """Power that the accelerator may draw, watts."""
    device_ecc: bool | None = None
    """Whether the accelerator's memory corrects errors."""
    device_pcie_width: Positive[int] | None = None
    """Lanes that connect the accelerator."""
    device_pcie_generation: Positive[int] | None = None
    """Newest generation of PCIe that accelerator and slot share."""
    device_memory_bytes: Positive[int] | None = None
    """Memory of the accelerator, or of the part of it that was used, bytes."""
    device_compute_units: Positive[int] | None = None
    """Multiprocessors, compute or execution units of the accelerator, or of its part in use."""
    cpu_clock_before_hz: Positive[float] | None = None
    """Mean clock of the CPUs a job is pinned to, ahead of the warm-up; null if none is shown."""
    cpu_clock_hz: Positive[float] | None = None
    """Mean clock over the steady phase, read ten times a second; null likewise."""
    cpu_clock_low_hz: Positive[float] | None = None
    """Lowest of these readings; null likewise."""
    cpu_clock_after_hz: Positive[float] | None = None
    """Mean clock behind the steady phase; null likewise."""
    cpu_throttle_events: NonNegative[int] | None = None
    """Times that heat held a core or package down while timed, most of any; null: not counted."""
    cpu_throttled_s: NonNegative[float] | None = None
    """Seconds for which it did, likewise."""


class Execution(RuntimeFacts):
    """Columns of the model's execution, if there was one."""

    weights: Literal["random", "pretrained"] = "random"
    """Whether parameters were drawn with a seed, or read from a folder or a hub."""
    predicted: bool = False
    """Whether the verdict was predicted before anything was launched."""


class Host(Frozen):
    """The machine, and the software between it and the model."""

    hardware_id: str | None = None
    """Hash of the facts that identify the machine and its device; memory counts in GiB."""
    device_name: str | None = None
    """The physical device the backend found."""
    device_partition: str | None = None
    """The part of that device, e.g. `1g.10gb` of a divided NVIDIA GPU; null for all of it."""
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
    cpu_scaling_driver: str | None = None
    """Frequency driver, e.g. `intel_pstate`; null likewise."""
    cpu_energy_preference: str | None = None
    """Preference between energy and performance that firmware is told; null likewise."""
    cpu_turbo: bool | None = None
    """Whether clocks above the nominal one are allowed; null likewise."""
    cpu_smt: bool | None = None
    """Whether cores have several hardware threads switched on; null likewise."""
    cpu_threads_per_core: Positive[int] | None = None
    """Most hardware threads of a core; null likewise."""
    cpu_siblings: list[int] | None = None
    """All hardware threads of the cores of the CPUs in `cpu_affinity`; null likewise."""
    numa_nodes: Positive[int] | None = None
    """NUMA nodes of the machine; null likewise."""
    cpu_numa_nodes: list[int] | None = None
    """NUMA nodes of the CPUs in `cpu_affinity`; null likewise."""
    transparent_huge_pages: str | None = None
    """When the kernel uses huge pages: `always`, `madvise` or `never`; null likewise."""
    cpu_affinity: list[int] | None = None
    """Logical CPUs the process could run on."""
    memory_total_bytes: int | None = None
    """Memory of the machine, bytes."""
    machine: str | None = None
    """Instruction set, e.g. `x86_64`."""
    operating_system: str | None = None
    """Operating system the runner saw."""
    environment_id: str | None = None
    """Hash of the software's facts: what lies between the machine and the model."""
    kernel: str | None = None
    """Kernel release."""
    hostname: str | None = None
    """The host's name, as the orchestrator saw it."""
    container_memory_limit_bytes: Positive[int] | None = None
    """Least memory limit of the control group and those above it, bytes; null without one."""
    container_cpu_limit: Positive[float] | None = None
    """Least CPU quota of the control group and those above it, cores; null without one."""
    threads: Positive[int] | None = None
    """Threads the runtime used for one operator; a cell's id names them if they were set."""
    interop_threads: NonNegative[int] | None = None
    """Operators the runtime may execute at once; null where it does not tell."""
    python_version: str | None = None
    """Version of the Python interpreter."""
    environment_variables: dict[str, str] | None = None
    """Variables that decide how a runtime executes, as the runner found them when it started, and
    those that the user named; `sha256:…` stands for a value that no runtime is known to read. Null
    without one, or where nobody looked."""
    libraries: dict[str, str] | None = None
    """Versions of the libraries that took part, and of the accelerator's driver."""
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


class Surroundings(Host):
    """Columns of the machine, the launcher and the orchestrator."""

    launcher: str
    """Where the job executed: `docker` or `process`."""
    orchestrator_version: str
    """Version of the orchestrator that planned the cell."""


class Raw(Frozen):
    """Every duration as the clock gave it."""

    warmup_durations_ns: list[NonNegativeInt] | None = None
    """Raw durations of the first query and the warm-up, nanoseconds, in order."""
    durations_ns: list[NonNegativeInt] | None = None
    """Raw durations of the iterations, nanoseconds, in order; in `server` from each arrival."""
    part_durations_ns: dict[str, list[NonNegativeInt]] | None = None
    """Raw durations of an iteration's parts by name, e.g. `first_token`, nanoseconds, in order."""
