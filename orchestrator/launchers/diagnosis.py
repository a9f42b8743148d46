"""The backends that can run on this machine, by each launcher, and remedies for what is missing."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import runner
from orchestrator.backends.catalogue import (
    CATALOGUE,
    GRAPH_RUNTIMES,
    BackendSpec,
    LauncherName,
    SupportClass,
    real_backends,
)
from orchestrator.backends.machine import require_stack, why_not_system
from orchestrator.backends.probes import Need, ThisHost
from orchestrator.images.image import ImageStatus
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.job_user import job_user
from orchestrator.launchers.registry import LAUNCHERS
from orchestrator.screen.words.reasons import error_hint, error_text
from runner.contract.axes import RUNTIMES, Backend
from runner.contract.errors import BenchError, EngineUnavailable, Unavailable

SUPPORT_CLASSES: Mapping[SupportClass, str] = {
    1: "measured in CI",
    2: "measured by hand",
    3: "built, never measured",
}


@dataclass(frozen=True)
class Diagnosis:
    """One backend by one launcher."""

    backend: Backend
    launcher: LauncherName
    runs: bool
    """True if jobs could be launched now."""
    support_class: SupportClass | None
    """See `SUPPORT_CLASSES`; None: this version has no runner for the backend."""
    reason: str
    """The things that make it run, or all that are missing."""
    remedy: str | None
    could_run: bool = False
    """True if nothing is missing but software, an image or a permission."""
    simulated: bool = False
    """True if this machine has a simulator in the device's place."""
    checks: tuple[Need, ...] = ()
    """The things that were looked at, one by one."""

    def data(self) -> dict[str, Any]:
        checks = [
            {
                "what": check.kind,
                "ok": check.ok,
                "found": check.message,
                "remedy": check.remedy,
                "needed": check.needed,
            }
            for check in self.checks
        ]
        return asdict(self) | {"checks": checks}


ListImages = Callable[[], Sequence[ImageStatus]]
"""Lists the images that the engine holds; raises EngineUnavailable."""


def diagnose(
    host: ThisHost | None = None,
    list_images: ListImages | None = None,
    catalogue: Mapping[Backend, BackendSpec] = CATALOGUE,
    launchers: Collection[type[Launcher]] = LAUNCHERS.values(),
) -> list[Diagnosis]:
    """Look at every backend by each launcher that could reach its device."""
    machine = host or ThisHost()
    images: Sequence[ImageStatus] | BenchError = ()
    if any(launcher.needs_images for launcher in launchers):
        try:
            images = (list_images or _local_images)()
        except BenchError as error:
            images = error
    return [
        _diagnosis(backend, launcher, machine, images, catalogue)
        for backend in real_backends()
        for launcher in launchers
        if launcher.can_reach(backend)
    ]


def runnable(launcher: LauncherName) -> list[Backend]:
    return [row.backend for row in diagnose(launchers=[LAUNCHERS[launcher]]) if row.runs]


def absent_devices() -> list[Backend]:
    """The backends whose device this machine lacks, whatever is installed."""
    there = {row.backend for row in diagnose() if row.runs or row.could_run}
    return [backend for backend in real_backends() if backend not in there]


def _local_images() -> Sequence[ImageStatus]:
    from orchestrator.images.local_images import LocalImages
    from orchestrator.images.settings import ImageSettings
    from orchestrator.system.engine import connect_engine  # docker's SDK loads slowly

    client = connect_engine()
    try:
        return LocalImages(client, ImageSettings.from_environment()).list()
    finally:
        client.close()


def _diagnosis(
    backend: Backend,
    launcher: type[Launcher],
    host: ThisHost,
    images: Sequence[ImageStatus] | BenchError,
    catalogue: Mapping[Backend, BackendSpec],
) -> Diagnosis:
    support = catalogue[backend].support_class
    if support is None:
        reason = f"accelmatrix {runner.__version__} has no runner for this backend"
        return Diagnosis(backend, launcher.name, False, support, reason, None)
    if in_container := launcher.needs_images:
        software = [_image(backend, images), *_user(host)]
    else:
        has_engine = bool(images) and not isinstance(images, BenchError)
        software = list(_packages(backend, host, catalogue, has_engine=has_engine))
    checks = (*software, *_probe(catalogue[backend], host, in_container=in_container))
    missing = [check for check in checks if check.needed and not check.ok]
    decisive = missing or checks
    remedies = dict.fromkeys(check.remedy for check in decisive if check.remedy)
    simulator = catalogue[backend].simulator
    return Diagnosis(
        backend=backend,
        launcher=launcher.name,
        runs=not missing,
        support_class=support,
        reason="; ".join(check.message for check in decisive),
        remedy="; ".join(remedies) or None,
        could_run=bool(missing)
        and why_not_system(backend, catalogue, host.system) is None
        and all(check.kind != "device" for check in missing),
        simulated=simulator is not None
        and simulator.stands_in(host.system, host.machine, host.nodes),
        checks=checks,
    )


def _image(backend: Backend, images: Sequence[ImageStatus] | BenchError) -> Need:
    if isinstance(images, BenchError):
        return Need("engine", ok=False, message=error_text(images), remedy=error_hint(images))
    status = next(status for status in images if backend in status.backends)
    if status.fresh:
        return Need("image", ok=True, message=f"the image {status.reference} is at hand")
    message = f"the engine answers; the first run makes the image {status.reference}"
    return Need("image", ok=True, message=message)


def _user(host: ThisHost) -> Iterator[Need]:
    try:
        user = job_user(host.engine(), os.getuid(), os.getgid())
    except EngineUnavailable:
        return  # as another check says
    except Unavailable as error:
        yield Need("user", ok=False, message=error_text(error), remedy=error_hint(error))
    else:
        yield Need("user", ok=True, message=f"jobs execute as {user.description}")


def _packages(
    backend: Backend, host: ThisHost, catalogue: Mapping[Backend, BackendSpec], *, has_engine: bool
) -> Iterator[Need]:
    try:
        require_stack(backend, catalogue, host.system)
    except BenchError as error:
        stack = catalogue[backend].stack
        is_lacking = error.reason.code == "launcher_package_missing"
        remedy = stack.remedy if stack and is_lacking and has_engine else error_hint(error)
        yield Need("library", ok=False, message=error_text(error), remedy=remedy)
    else:
        yield Need("library", ok=True, message="its runtime is installed beside the orchestrator")
    if not GRAPH_RUNTIMES.issuperset(RUNTIMES[backend]):
        return
    try:  # none of its runtimes can do without prepared graphs
        require_stack("cpu", catalogue, host.system)
    except BenchError as error:
        message = f"its graphs are exported with the stack of backend cpu: {error_text(error)}"
        yield Need("library", ok=False, message=message, remedy=error_hint(error))


def _probe(spec: BackendSpec, host: ThisHost, *, in_container: bool) -> Iterator[Need]:
    try:
        yield from spec.probe(host, in_container=in_container) if spec.probe else ()
    except BenchError:
        return  # there is no engine, as another check says
