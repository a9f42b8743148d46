"""Which backends can be launched: each is made ready once, and a refusal is remembered."""

import socket
import time

from orchestrator.launchers.base import Launcher
from orchestrator.system.git import git_commit
from runner.contract.cell import Backend
from runner.contract.errors import BenchError, EngineUnavailable, ImageError, Unavailable
from runner.contract.job import Provenance

POLL_S = 0.5


class Readiness:
    """What one launcher said of each backend."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._here = {"hostname": socket.gethostname(), "git_commit": git_commit()}
        self._found: dict[Backend, Provenance | BenchError] = {}

    def prepare(self, backend: Backend) -> Provenance:
        """Make sure that its jobs can be launched, and tell in what they will execute.

        Raises:
            EngineUnavailable: there is no engine.
            ImageError: the image is missing and can't be made.
            Unavailable: this machine lacks what the backend needs.
        """
        if backend not in self._found:
            self._found[backend] = self._ask(backend)
        found = self._found[backend]
        if isinstance(found, BenchError):
            raise found
        return found

    def give_up(self, backend: Backend, error: BenchError) -> None:
        """From now on refuse the backend with this error."""
        self._found[backend] = error

    def returns(self, backend: Backend, patience_s: float) -> bool:
        """Whether an engine that went away comes back; then all backends are made ready anew."""
        deadline = time.monotonic() + patience_s
        while isinstance(found := self._ask(backend), BenchError):
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_S)
        self._found = {backend: found}
        return True

    def _ask(self, backend: Backend) -> Provenance | BenchError:
        try:
            return self._launcher.prepare(backend).model_copy(update=self._here)
        except (Unavailable, ImageError, EngineUnavailable) as error:
            return error
