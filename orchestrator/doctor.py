"""Can each backend run here, by which launcher, why not, and what to do."""

from collections.abc import Mapping
from dataclasses import dataclass

import runner
from orchestrator.devices import DEVICES, BackendDevice, LauncherName, SupportClass
from orchestrator.engine import connect
from orchestrator.images import ImageSettings, Shelf
from orchestrator.launchers.process import ProcessLauncher
from runner.cell import Backend
from runner.errors import BenchError

MEANING: Mapping[SupportClass, str] = {
    1: "measured in CI",
    2: "measured by hand",
    3: "built, never measured",
}


@dataclass(frozen=True)
class Finding:
    """One backend by one launcher."""

    backend: Backend
    launcher: LauncherName
    runs: bool
    """Whether jobs could be launched now."""
    support_class: SupportClass | None
    """See `MEANING`; None: this version has no runner for the backend."""
    reason: str
    """What makes it run, or why it does not."""
    remedy: str | None
    """What to do about it."""


def examine() -> list[Finding]:
    """Look at every backend by each launcher that could reach its device."""
    return [
        _examine(backend, device, launcher)
        for backend, device in DEVICES.items()
        if backend != "fake"
        for launcher in device.launchers
    ]


def _examine(backend: Backend, device: BackendDevice, launcher: LauncherName) -> Finding:
    runs, remedy = False, None
    if device.support_class is None:
        reason = f"accelmatrix {runner.__version__} has no runner for this backend"
    else:
        try:
            reason = _docker(backend) if launcher == "docker" else _process(backend)
            runs = True
        except BenchError as error:
            reason, remedy = str(error), error.hint
    return Finding(backend, launcher, runs, device.support_class, reason, remedy)


def _docker(backend: Backend) -> str:
    shelf = Shelf(connect(), ImageSettings.from_environment())
    status = next(status for status in shelf.list() if backend in status.backends)
    if status.fresh:
        return f"the image {status.reference} is at hand"
    return f"the engine answers; the first run makes the image {status.reference}"


def _process(backend: Backend) -> str:
    ProcessLauncher().prepare(backend)
    return "its runtime is installed beside the orchestrator"
