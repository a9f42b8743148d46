"""Which launcher a run takes, and how it is made."""

from collections.abc import Callable
from dataclasses import dataclass

from orchestrator.backends.catalogue import LauncherName
from orchestrator.images import Image, ImageSettings, Shelf
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.process import ProcessLauncher
from orchestrator.system.engine import connect, engine_answers
from orchestrator.system.git import git_commit
from runner.contract.cell import Backend

NO_ENGINE = "no container engine answers: jobs run as local processes"
BUILD_STEP = "Step "

Note = Callable[[str], None]
"""Takes one line that the user should see."""


@dataclass(frozen=True)
class Pinned:
    """The image that one backend's jobs shall execute in, and no other."""

    backend: Backend
    reference: str
    """Its name and tag when it was used."""
    digest: str
    """`sha256:…`"""


class PinnedImages:
    """The pinned image for its backend; for others, references for one, today's images."""

    def __init__(self, shelf: Shelf, pinned: Pinned) -> None:
        self._shelf = shelf
        self._pinned = pinned

    def ensure(self, backend: Backend) -> Image:
        """The backend's image, which the engine holds.

        Raises:
            ImageError: the engine does not hold it.
            EngineUnavailable: the engine went away.
        """
        if backend == self._pinned.backend:
            return self._shelf.exactly(self._pinned.reference, self._pinned.digest)
        return self._shelf.ensure(backend)


def choose_launcher(asked: str, note: Note) -> LauncherName:
    """`docker` or `process`; `auto` takes containers if an engine answers, else says so.

    Raises:
        EngineUnavailable: containers were asked for and no engine answers.
        UsageError: ACCELMATRIX_REGISTRY is no registry.
    """
    ImageSettings.from_environment()  # refuses a bad registry before anything is made
    if asked == "process":
        return "process"
    if asked == "docker":
        connect().close()
        return "docker"
    if engine_answers():
        return "docker"
    note(NO_ENGINE)
    return "process"


def foresee_launcher(asked: str) -> LauncherName:
    """What `choose_launcher` will most likely say, without needing an engine to be there."""
    if asked == "auto":
        return "docker" if engine_answers() else "process"
    return "process" if asked == "process" else "docker"


def make_launcher(name: LauncherName, note: Note, pinned: Pinned | None = None) -> Launcher:
    """The launcher of that name. The steps of a build are told as notes.

    Containers execute in today's images, save in the one that is pinned.

    Raises:
        EngineUnavailable: containers were asked for and no engine answers.
        UsageError: ACCELMATRIX_REGISTRY is no registry.
    """
    if name == "process":
        return ProcessLauncher()
    client = connect()
    settings = ImageSettings.from_environment(revision=git_commit())

    def report(line: str) -> None:
        if line.startswith(BUILD_STEP):
            note(f"building the image, {line}")

    shelf = Shelf(client, settings, report)
    return DockerLauncher(client, PinnedImages(shelf, pinned) if pinned else shelf)
