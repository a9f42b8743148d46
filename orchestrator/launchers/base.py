"""The launcher protocol: the place where jobs execute, and the launch of one job."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import ClassVar, Protocol

from orchestrator.backends.catalogue import CATALOGUE, LauncherName
from orchestrator.system.locks import Waiting, hold_devices
from orchestrator.system.weights import weights_folder
from runner.contract.axes import Backend
from runner.contract.job import Job, Provenance

OUT = "--out"
"""The option of the only place that the runner writes to."""


@dataclass(frozen=True)
class Task:
    """One launch of the runner: a job, and the places on this host that it reads and writes."""

    job: Job
    """The cells, and the limits that the launch is held to."""
    backend: Backend
    """Decides image and device requests; an export has another one than the job's cells."""
    job_file: Path
    """The job as JSON; the runner only reads it."""
    out: Path
    """The folder, existing, into which the runner writes its records."""
    references: Path | None = None
    """The folder of references that outputs are verified against; the runner only reads it."""
    graphs: Path | None = None
    """The folder of prepared graphs; the runner only reads it."""

    def staged(self) -> Mapping[str, Path]:
        """The files and folders that the runner is given, by the option that names each."""
        places = {
            "--job": self.job_file,
            OUT: self.out,
            "--references": self.references,
            "--graphs": self.graphs,
            "--weights": weights_folder(self.job.model),
        }
        return {option: path for option, path in places.items() if path is not None}


@dataclass(frozen=True)
class Exit:
    """The end of a launch."""

    code: int
    """The runner's exit status; negative or above 128 for a signal."""
    out_of_memory: bool
    """True if it was killed for using too much memory."""
    log: str
    """The end of what the runner wrote to stderr."""


class TaskExecution(Protocol):
    """A launch under way."""

    @property
    def lines(self) -> Queue[str | None]:
        """The runner's stdout, line by line; None after the last line."""

    def send(self, line: str) -> None:
        """Write a line to the stdin of a runner that takes turns; harmless when it has ended."""

    def kill(self) -> None:
        """End the runner and all its children at once; harmless when it has ended."""

    def wait(self) -> Exit:
        """Block until it has ended, or until EngineUnavailable says that nobody will know."""


class Launcher(Protocol):
    """A place where jobs execute."""

    name: ClassVar[LauncherName]
    """Its name on the command line and in records."""
    needs_images: ClassVar[bool]
    """True if jobs execute in images; else in the packages installed beside the orchestrator."""
    slots: ClassVar[int]
    """Jobs that it may execute at once without one disturbing the other's measurement."""

    @classmethod
    def can_reach(cls, backend: Backend) -> bool:
        """True if it can give a job the backend's device, on a machine that has one."""

    def reserve(
        self, devices: frozenset[str], holder: str, waiting: Waiting
    ) -> AbstractContextManager[None]:
        """Reserve these devices for one holder; wait until other holders release them."""

    def prepare(self, backend: Backend) -> Provenance:
        """Make sure that jobs of this backend can be launched; returns their environment."""

    def launch(self, task: Task) -> AbstractContextManager[TaskExecution]:
        """Start the runner. Leaving the context leaves nothing behind: no process, no container."""

    def clean(self, devices: frozenset[str]) -> int:
        """Remove what crashed orchestrators left on these devices, which are reserved; count it."""


class LocalLauncher:
    """The part that launchers on this machine share: its device locks, and one job at a time."""

    name: ClassVar[LauncherName]
    slots: ClassVar[int] = 1

    @classmethod
    def can_reach(cls, backend: Backend) -> bool:
        return cls.name in CATALOGUE[backend].launchers

    def reserve(
        self, devices: frozenset[str], holder: str, waiting: Waiting
    ) -> AbstractContextManager[None]:
        return hold_devices(devices, holder, waiting)
