"""Availability of backends: each is made ready once, and a refusal is remembered."""

import socket
import time

from orchestrator.images.image import REVISION_LABEL
from orchestrator.launchers.base import Launcher
from orchestrator.system.git import own_commit
from runner.contract.cell import Backend
from runner.contract.errors import BenchError, EngineUnavailable, ImageError, Unavailable
from runner.contract.job import Provenance

_POLL_S = 0.5


class Availability:
    """The answers of one launcher, backend by backend."""

    def __init__(self, launcher: Launcher, *, earlier: bool = False) -> None:
        """The answers of a launcher.

        Args:
            launcher: where jobs execute.
            earlier: True if it is given images of an earlier version, whose commit is their own.
        """
        self._launcher = launcher
        self._earlier = earlier
        self._here = {"hostname": socket.gethostname(), "git_commit": own_commit()}
        self._answers: dict[Backend, Provenance | BenchError] = {}

    def prepare(self, backend: Backend) -> Provenance:
        """Make sure that its jobs can be launched, and return what they will execute in.

        Raises:
            EngineUnavailable: there is no engine.
            ImageError: the image is missing and can't be made.
            Unavailable: this machine lacks what the backend needs.
        """
        if backend not in self._answers:
            self._answers[backend] = self._ask(backend)
        answer = self._answers[backend]
        if isinstance(answer, BenchError):
            raise answer
        return answer

    def give_up(self, backend: Backend, error: BenchError) -> None:
        """From now on refuse the backend with this error."""
        self._answers[backend] = error

    def comes_back(self, backend: Backend, patience_s: float) -> bool:
        """Wait for an engine that went away; if it is back, all backends are made ready anew."""
        deadline = time.monotonic() + patience_s
        while isinstance(answer := self._ask(backend), BenchError):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_S)
        self._answers = {backend: answer}
        return True

    def _ask(self, backend: Backend) -> Provenance | BenchError:
        try:
            provenance = self._launcher.prepare(backend).model_copy(update=self._here)
        except (Unavailable, ImageError, EngineUnavailable) as error:
            return error
        if not self._earlier:
            return provenance
        commit = provenance.image_labels.get(REVISION_LABEL)
        return provenance.model_copy(update={"git_commit": commit})
