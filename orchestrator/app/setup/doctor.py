"""Can each backend run here, by which launcher, why not, and what to do."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import runner
from orchestrator.backends.catalogue import DEVICES, LauncherName, SupportClass
from orchestrator.backends.probes import PROBES, Check, Host, ThisHost
from orchestrator.backends.stacks import STACKS, Stack, require_stack
from orchestrator.images import ImageSettings, ImageStatus, Shelf
from orchestrator.running.graphs import GRAPH_RUNTIMES
from orchestrator.system.engine import connect
from runner.contract.cell import Backend
from runner.contract.errors import BenchError
from runner.contract.support import RUNTIMES

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
    """What makes it run, or all that is missing."""
    remedy: str | None
    """What to do about what is missing."""
    checks: tuple[Check, ...] = ()
    """What was looked at, one by one."""


Shelves = Callable[[], Sequence[ImageStatus]]
"""The images that the engine holds; raises EngineUnavailable."""


def examine(
    host: Host | None = None,
    shelves: Shelves | None = None,
    stacks: Mapping[Backend, Stack] = STACKS,
) -> list[Finding]:
    """Look at every backend by each launcher that could reach its device."""
    machine, images = host or ThisHost(), _images(shelves or _ours)
    return [
        _finding(backend, launcher, machine, images, stacks)
        for backend in DEVICES
        if backend != "fake"
        for launcher in DEVICES[backend].launchers
    ]


def runnable(launcher: LauncherName) -> list[Backend]:
    """The backends whose jobs could be launched now."""
    return [each.backend for each in examine() if each.launcher == launcher and each.runs]


def _ours() -> Sequence[ImageStatus]:
    client = connect()
    try:
        return Shelf(client, ImageSettings.from_environment()).list()
    finally:
        client.close()


def _images(shelves: Shelves) -> Sequence[ImageStatus] | BenchError:
    try:
        return shelves()
    except BenchError as error:
        return error


def _finding(
    backend: Backend,
    launcher: LauncherName,
    host: Host,
    images: Sequence[ImageStatus] | BenchError,
    stacks: Mapping[Backend, Stack],
) -> Finding:
    support = DEVICES[backend].support_class
    if support is None:
        reason = f"accelmatrix {runner.__version__} has no runner for this backend"
        return Finding(backend, launcher, False, support, reason, None)
    docker = launcher == "docker"
    software = (_docker(backend, images),) if docker else _process(backend, host, stacks)
    checks = (*software, *_probe(backend, launcher, host))
    missing = [check for check in checks if check.needed and not check.ok]
    told = missing or checks
    remedies = dict.fromkeys(check.remedy for check in told if check.remedy)
    return Finding(
        backend=backend,
        launcher=launcher,
        runs=not missing,
        support_class=support,
        reason="; ".join(check.found for check in told),
        remedy="; ".join(remedies) or None,
        checks=checks,
    )


def _docker(backend: Backend, images: Sequence[ImageStatus] | BenchError) -> Check:
    if isinstance(images, BenchError):
        return Check("engine", ok=False, found=str(images), remedy=images.hint)
    status = next(status for status in images if backend in status.backends)
    if status.fresh:
        return Check("image", ok=True, found=f"the image {status.reference} is at hand")
    found = f"the engine answers; the first run makes the image {status.reference}"
    return Check("image", ok=True, found=found)


def _process(backend: Backend, host: Host, stacks: Mapping[Backend, Stack]) -> Iterator[Check]:
    try:
        require_stack(backend, stacks, host.system)
    except BenchError as error:
        yield Check("library", ok=False, found=str(error), remedy=error.hint)
    else:
        yield Check("library", ok=True, found="its runtime is installed beside the orchestrator")
    if GRAPH_RUNTIMES.issuperset(RUNTIMES[backend]):
        yield from _exporter(host, stacks)


def _exporter(host: Host, stacks: Mapping[Backend, Stack]) -> Iterator[Check]:
    """What is missing where no runtime of a backend can do without prepared graphs."""
    try:
        require_stack("cpu", stacks, host.system)
    except BenchError as error:
        found = f"its graphs are exported with the stack of backend cpu: {error}"
        yield Check("library", ok=False, found=found, remedy=error.hint)


def _probe(backend: Backend, launcher: LauncherName, host: Host) -> Iterator[Check]:
    try:
        yield from PROBES[backend](host, launcher) if backend in PROBES else ()
    except BenchError:
        return  # there is no engine, as another check says
