"""What every launcher promises, whatever it launches into."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Protocol

from runner.contract.cell import Backend
from runner.contract.job import Limits, Provenance


@dataclass(frozen=True)
class Task:
    """One launch of the runner."""

    run_id: str
    """The run, for labels."""
    job_id: str
    """The job, for labels and names."""
    backend: Backend
    """Decides image and device requests."""
    limits: Limits
    """What the launch may use."""
    job_file: Path
    """The job as JSON; the runner only reads it."""
    out: Path
    """The folder, existing, into which the runner writes its records."""
    references: Path | None = None
    """The folder of what outputs are verified against, which the runner only reads."""
    graphs: Path | None = None
    """The folder of prepared graphs, which the runner only reads."""
    weights: Path | None = None
    """The folder of the model's own weights, which the runner only reads."""


@dataclass(frozen=True)
class Exit:
    """How a launch ended."""

    code: int
    """The runner's exit status; negative or above 128 for a signal."""
    out_of_memory: bool
    """Whether it was killed for using too much memory."""
    log: str
    """The end of what the runner wrote to stderr."""


class Execution(Protocol):
    """A launch under way."""

    @property
    def lines(self) -> Queue[str | None]:
        """The runner's stdout, line by line; None after the last line."""
        ...

    def kill(self) -> None:
        """End the runner and all its children at once; harmless when it has ended."""
        ...

    def wait(self) -> Exit:
        """How it ended; blocks until it has.

        Raises:
            EngineUnavailable: the engine went away, so nobody knows.
        """
        ...


class Launcher(Protocol):
    """A place where jobs execute."""

    name: str

    def prepare(self, backend: Backend) -> Provenance:
        """Make sure that jobs of this backend can be launched, and tell in what they will execute.

        Raises:
            EngineUnavailable: there is no engine.
            ImageError: the image is missing and can't be made.
            Unavailable: this machine lacks what the backend needs.
        """
        ...

    def launch(self, task: Task) -> AbstractContextManager[Execution]:
        """Start the runner. Leaving the context leaves nothing behind: no process, no container.

        Raises:
            EngineUnavailable: there is no engine.
            ImageError: the image is gone.
            Unavailable: the engine refuses what the backend needs.
        """
        ...

    def clean(self, devices: frozenset[str]) -> int:
        """Remove what crashed orchestrators left on these devices; returns how many things.

        Call it with the devices' locks held: then whatever is there has no owner.
        """
        ...
