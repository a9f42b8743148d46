"""Which launcher a run takes, and how it is made."""

from collections.abc import Callable

from orchestrator.checkout import git_commit
from orchestrator.devices import LauncherName
from orchestrator.engine import connect, engine_answers
from orchestrator.images import ImageSettings, Shelf
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.process import ProcessLauncher

NO_ENGINE = "no container engine answers: jobs run as local processes"
BUILD_STEP = "Step "

Note = Callable[[str], None]
"""Takes one line that the user should see."""


def choose_launcher(asked: str, note: Note) -> LauncherName:
    """`docker` or `process`; `auto` takes containers if an engine answers, else says so.

    Raises:
        EngineUnavailable: containers were asked for and no engine answers.
        MatrixError: ACCELMATRIX_REGISTRY is no registry.
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


def make_launcher(name: LauncherName, note: Note) -> Launcher:
    """The launcher of that name. The steps of a build are told as notes.

    Raises:
        EngineUnavailable: containers were asked for and no engine answers.
        MatrixError: ACCELMATRIX_REGISTRY is no registry.
    """
    if name == "process":
        return ProcessLauncher()
    client = connect()
    settings = ImageSettings.from_environment(revision=git_commit())

    def report(line: str) -> None:
        if line.startswith(BUILD_STEP):
            note(f"building the image, {line}")

    return DockerLauncher(client, Shelf(client, settings, report))
