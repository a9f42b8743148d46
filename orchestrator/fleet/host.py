"""Hosts of a fleet: what each is, and the journal in which drivers keep what they know of it."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil
from pydantic import Field

from orchestrator.backends.catalogue import LauncherName
from orchestrator.images.image import state_file
from runner.contract.axes import Backend
from runner.contract.cell import Frozen
from runner.contract.errors import DamagedFile, RecordNotSaved
from runner.contract.files import TEXT_BYTES, read_plain, save_text
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
    hardware: Hardware
    accelerators: tuple[str, ...] = ()
    """The names of its accelerators, sorted; one name for each."""
    memory_bytes: int | None = None
    """Host memory that a job may use where its limits don't say; null if it isn't known."""
    launcher: LauncherName
    unavailable: dict[Backend, str] = Field(default_factory=dict)
    """Backends that it cannot measure, each with the reason."""
    remedies: dict[Backend, str] = Field(default_factory=dict)
    images: dict[Backend, str] = Field(default_factory=dict)
    """Digest of the image that each backend would execute in, of those at hand."""
    version: str
    python: str
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


_MOST_LOST = 20
"""Lost orders that are kept, the last ones."""
_CLOCK_S = 1.0
"""Seconds by which two readings of a process's start may differ."""


class LostOrder(Frozen):
    """An order that a host did not end, with the seconds since 1970 at which it was lost."""

    at_s: float
    reason: str


class HostMemory(Frozen):
    """Facts and work of one host, as far as they are known."""

    facts: HostFacts | None = None
    asked_s: float | None = None
    """Seconds since 1970 at which it gave that."""
    work: str | None = None
    """The run and unit that a driver of this user's began there last."""
    driver: int | None = None
    """The process id of that driver; null once its work there is over."""
    driver_started_s: float | None = None
    """Seconds since 1970 at which that process began, by which its id is told from a later one."""
    lost: tuple[LostOrder, ...] = Field(default=(), max_length=_MOST_LOST)
    """Orders that it lost, the oldest first."""

    @property
    def holder(self) -> str | None:
        """The driver of this machine that is at work there; None if there is none."""
        with suppress(psutil.Error, TypeError):
            began = psutil.Process(self.driver).create_time() if self.driver else None
            if began and abs(began - (self.driver_started_s or 0.0)) < _CLOCK_S:
                return f"this machine, pid {self.driver}"
        return None


class HostJournal:
    """A folder with a file for each host. What cannot be kept is dropped."""

    def __init__(self, folder: Path | None = None) -> None:
        """The journal in this folder, made when something is kept; without one nothing is."""
        self._folder = folder

    def of(self, host: str) -> HostMemory:
        with suppress(OSError, ValueError, DamagedFile):
            if self._folder is not None:
                content = read_plain(self._folder / _file_name(host), TEXT_BYTES)
                return HostMemory.model_validate_json(content)
        return HostMemory()

    def keep_facts(self, facts: Mapping[str, HostFacts]) -> None:
        for host, known in facts.items():
            self._change(host, facts=known, asked_s=time.time())

    def begin(self, host: str, work: str) -> None:
        started_s = psutil.Process().create_time()
        self._change(host, work=work, driver=os.getpid(), driver_started_s=started_s)

    def end(self, host: str, fault: str | None) -> None:
        """The order there is over; a fault says why it was lost."""
        lost = self.of(host).lost
        if fault is not None:
            lost = (*lost, LostOrder(at_s=time.time(), reason=fault))[-_MOST_LOST:]
        self._change(host, driver=None, lost=lost)

    def _change(self, host: str, **changes: object) -> None:
        if self._folder is None:
            return
        entry = self.of(host).model_copy(update=changes)
        with suppress(OSError, RecordNotSaved):  # another driver may write the same file
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            save_text(self._folder / _file_name(host), entry.model_dump_json())


def journal_folder(environment: Mapping[str, str]) -> Path | None:
    """The folder of a user's journal; None for a user without a home."""
    file = state_file(environment)
    return None if file is None else file.absolute().parent / "fleet" / "journal"


def _file_name(host: str) -> str:
    return f"{quote(host, safe='')}.json"
