"""A host of a fleet: what it is, by which it is told from hosts of other hardware."""

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from orchestrator.backends.catalogue import LauncherName
from runner.contract.cell import Backend, Frozen
from runner.contract.record.ids import digest, host_id

_LETTERS = 8


class Hardware(Frozen):
    """A machine's hardware, under the names of a record's columns."""

    cpu_model: str
    cpu_cores_physical: int | None = None
    cpu_cores_logical: int | None = None
    memory_total_bytes: int
    machine: str | None = None
    """The machine type, e.g. `x86_64`."""


class HostFacts(Frozen):
    """The facts about a host that placing cells depends on, as the host itself tells them."""

    hostname: str
    """The name that it gives itself."""
    hardware: Hardware
    """Its hardware."""
    accelerators: tuple[str, ...] = ()
    """The names of its accelerators, sorted; one name for each."""
    memory_bytes: int | None = None
    """Host memory that a job may use where its limits don't say; null if it isn't known."""
    launcher: LauncherName
    """The launcher that executes its jobs."""
    unavailable: dict[Backend, str] = Field(default_factory=dict)
    """Backends that it cannot measure, each with the reason."""
    remedies: dict[Backend, str] = Field(default_factory=dict)
    """The way to those backends that are missing, where there is one."""
    images: dict[Backend, str] = Field(default_factory=dict)
    """Digest of the image that each backend would execute in, of those at hand."""
    version: str
    """Version of the orchestrator."""
    python: str
    """Version of Python."""
    sources: str | None = None
    """Digest of the runner's sources there; null if nobody asked."""
    git_commit: str | None = None
    """Commit of the AccelMatrix checkout, with `-dirty` behind it if it had changes."""

    @property
    def host_id(self) -> str | None:
        """The id of its machine, as results have it; None if it is not known."""
        return host_id(self.hardware.model_dump())

    @property
    def class_id(self) -> str:
        """The id of all hosts with this hardware, whatever their names and labels."""
        return hardware_class(self.hardware.model_dump(), self.accelerators)

    @property
    def ability(self) -> str:
        """The id of all hosts of this class that can measure the same backends."""
        missing = digest("\n".join(sorted(self.unavailable)))[:_LETTERS] if self.unavailable else ""
        return "-".join(filter(None, (self.class_id, missing)))

    @property
    def description(self) -> str:
        """The hardware in a few words: `AMD EPYC 7763, 8 cores, 32 GiB, 2 × NVIDIA A100`."""
        hardware = self.hardware
        kinds = {name: self.accelerators.count(name) for name in self.accelerators}
        devices = (f"{count} × {name}" if count > 1 else name for name, count in kinds.items())
        cores, memory = hardware.cpu_cores_logical, hardware.memory_total_bytes
        words = (hardware.cpu_model, f"{cores} cores", f"{memory / (1 << 30):.0f} GiB")
        return ", ".join((*words, *devices))


def hardware_class(hardware: Mapping[str, Any], accelerators: tuple[str, ...]) -> str:
    """The id of a class of hosts: what identifies a machine's hardware, and its accelerators.

    Two hosts of one class give results of one series: a label or a name says nothing about that.
    """
    machine = host_id(hardware) or digest(str(sorted(hardware.items())))
    return digest("\n".join((machine, *sorted(accelerators))))[:_LETTERS]
