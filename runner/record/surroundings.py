"""Columns about the machine, the software and the launch; and the raw durations."""

from pydantic import NonNegativeInt

from runner.cell import Frozen


class Host(Frozen):
    """The machine, and the software between it and the model."""

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
    environment_id: str | None = None
    """Hash of the software's facts: what lies between the machine and the model."""
    kernel: str | None = None
    """Kernel release."""
    hostname: str | None = None
    """The host's name, as the orchestrator saw it."""
    container_memory_limit_bytes: int | None = None
    """Memory limit of the control group, bytes; null when there is none."""
    container_cpu_limit: float | None = None
    """CPU quota of the control group, cores; null when there is none."""
    threads: int | None = None
    """Threads the runtime used for one operator."""
    interop_threads: int | None = None
    """Operators the runtime may execute at once; null where it does not tell."""
    python_version: str | None = None
    """Version of the Python interpreter."""
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
    """Where the cell ran, and who sent it there."""

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
