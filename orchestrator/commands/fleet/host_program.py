"""The program that a transport starts on a host: it answers questions and executes orders."""

import os
import platform
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import BinaryIO

from filelock import FileLock, Timeout
from pydantic import ValidationError

import runner
from orchestrator.backends.catalogue import LauncherName, real_backends
from orchestrator.backends.machine import host_facts, this_host, this_machine
from orchestrator.backends.probes import ThisHost
from orchestrator.fleet.host import Hardware, HostFacts, hardware_class
from orchestrator.fleet.messages import (
    Ended,
    FactsWanted,
    Known,
    Order,
    Refused,
    Shared,
    error_facts,
)
from orchestrator.fleet.shared_artifacts import artifacts_at_hand, content_of, keep_artifact
from orchestrator.fleet.transport import BEAT_S, SILENCE_S
from orchestrator.fleet.wire import DriverWatch, SendingObserver, Wire, send_files
from orchestrator.images.local_images import LocalImages
from orchestrator.images.settings import ImageSettings
from orchestrator.images.source import runner_digest
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.diagnosis import diagnose
from orchestrator.launchers.environment import set_variables
from orchestrator.launchers.registry import LAUNCHERS, choose_launcher, make_launcher
from orchestrator.running.calibration import read_spreads
from orchestrator.running.create import require_space
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunFile
from orchestrator.screen.words.reasons import reason_text
from orchestrator.system.engine import connect_engine
from orchestrator.system.files import translate_os_errors
from orchestrator.system.git import own_commit
from orchestrator.system.known_hashes import cache_folder
from orchestrator.system.problems import first_fault
from orchestrator.system.trees import remove_tree
from runner.contract.axes import Backend
from runner.contract.cell import Purpose
from runner.contract.errors import BenchError, DamagedFile, Unavailable, UsageError

_BUS_VENDORS = {"0x1002": "AMD", "0x1022": "AMD", "0x8086": "Intel"}
_BUS_KINDS = {"GPU": "drm/card*[0-9]/device", "NPU": "accel/accel[0-9]*/device"}
_BUS_NUMBERS = ("vendor", "device")
_NVIDIA_NAMES = ("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")


def read_own_facts(requested: str = "auto", purpose: Purpose = "measure") -> HostFacts:
    """Look at this host: hardware, backends, images, versions."""
    launcher = choose_launcher(requested, lambda _: None)
    rows = diagnose(launchers=[LAUNCHERS[launcher]])
    missing = [row for row in rows if not row.runs]
    reached = {row.backend for row in rows}
    beyond = f"the launcher {launcher} cannot reach its device"
    unavailable = {
        **{backend: beyond for backend in real_backends() if backend not in reached},
        **{row.backend: row.reason for row in missing},
    }
    machine = this_machine(purpose)
    return HostFacts(
        hostname=socket.gethostname(),
        hardware=Hardware.model_validate(host_facts()),
        accelerators=_accelerators(ThisHost()),
        memory_bytes=machine.memory_bytes,
        launcher=launcher,
        unavailable=unavailable
        | {backend: reason_text(reason) for backend, reason in machine.unavailable.items()},
        remedies={row.backend: row.remedy for row in missing if row.remedy},
        images=_images(launcher),
        version=runner.__version__,
        python=platform.python_version(),
        sources=runner_digest(),
        git_commit=own_commit(),
    )


def _accelerators(host: ThisHost) -> tuple[str, ...]:
    names = map(str.strip, (host.ask(_NVIDIA_NAMES) or "").splitlines())
    return tuple(sorted((*filter(None, names), *_bus_accelerators())))


def _bus_accelerators() -> Iterator[str]:
    """The GPUs and neural processors of AMD and Intel, e.g. `AMD GPU 0x740f`."""
    for kind, pattern in _BUS_KINDS.items():
        for device in sorted(Path("/sys/class").glob(pattern)):
            with suppress(OSError):
                vendor, number = ((device / name).read_text().strip() for name in _BUS_NUMBERS)
                if vendor in _BUS_VENDORS:
                    yield f"{_BUS_VENDORS[vendor]} {kind} {number}"


def _images(launcher: LauncherName) -> dict[Backend, str]:
    if not LAUNCHERS[launcher].needs_images:
        return {}
    client = connect_engine()
    try:
        statuses = LocalImages(client, ImageSettings.from_environment()).list()
    finally:
        client.close()
    return {
        backend: status.image.digest
        for status in statuses
        if status.fresh and status.image is not None
        for backend in status.backends
    }


_STARTED_BY = "`orchestrator run --fleet` starts this program on hosts and writes to it"
_LOCK_SUFFIX = ".lock"


def serve_driver(
    stream: BinaryIO,
    out: BinaryIO,
    *,
    silence_s: float = SILENCE_S,
    end: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGTERM),
) -> int:
    """Answer what the driver asks and execute what it orders, one after the other.

    Returns an exit status: 0 once the driver says no more. Another thread calls `end` to end this
    program in an orderly way.
    """
    wire, stop = Wire(out), Event()
    watch = DriverWatch(stream, silence_s, end)
    watch.start(stop)
    Thread(target=wire.beat, args=(BEAT_S, stop), daemon=True).start()
    try:
        while (request := _request(watch)) is not None:
            _answer(*request, wire, watch)
    except BenchError as error:
        wire.send(Refused(**error_facts(error)))
        if isinstance(error, UsageError):
            raise
        return error.exit_code
    finally:
        watch.disarm()
        stop.set()
    return 0


def _request(watch: DriverWatch) -> tuple[FactsWanted | Order, bytes] | None:
    """The driver's question or order; files that come before it are kept for all orders.

    None if the driver says no more.
    """
    try:
        while (received := watch.next_message()) is not None:
            message, body = received
            if isinstance(message, FactsWanted | Order):
                return message, body
            if isinstance(message, Shared):
                keep_artifact(orders_folder(), message, body)
    except DamagedFile as error:
        raise UsageError(f"stdin: {error}", hint=_STARTED_BY) from error
    return None


def _answer(message: FactsWanted | Order, body: bytes, wire: Wire, watch: DriverWatch) -> None:
    watch.listen()
    if isinstance(message, FactsWanted):
        facts = read_own_facts(message.launcher, message.purpose)
        watch.disarm()
        wire.send(Known(facts=facts))
        return
    run = _run_file(message, body)
    folder = orders_folder()
    require_space(folder)
    set_variables(run.options.inherit_environ or ())
    observer = SendingObserver(wire, message.transport)
    if (niceness := os.nice(0)) > 0:  # Ray's default for what it starts is 15
        observer.note(f"measures with niceness {niceness}, behind other programs")
    launcher = make_launcher(run.launcher, observer.image_step, chosen=run.options.images)
    own = hardware_class(host_facts(), _accelerators(ThisHost()))
    if message.hardware not in (None, own):
        raise Unavailable(
            f"{message.host} has other hardware than the host of its name that was asked before",
            hint="name the `node` of a partition whose nodes differ",
        )
    for backend, digest in message.digests.items():
        if (image := launcher.prepare(backend).image_digest) != digest:
            raise Unavailable(
                f"{message.host} has another image of backend {backend}: {image}, not {digest}",
                hint=f"on the host: `orchestrator images pull {backend}`",
            )
    with order_folder(folder, message.id):
        fault = _execute(message, _as_own(run, folder), launcher, observer, wire)
        watch.disarm()
    wire.send(Ended() if fault is None else Refused(**error_facts(fault)))


def _execute(
    order: Order, run: RunFile, launcher: Launcher, observer: SendingObserver, wire: Wire
) -> BenchError | None:
    """Measure, and send all that comes of it; returns the error that ended it before its end."""
    folder = orders_folder()
    known = artifacts_at_hand(folder)
    options = RunOptions(budget_s=order.budget_s, fail_fast=order.fail_fast)
    created, memory_bytes = RunFolder.create(folder, run, order.id), this_machine().memory_bytes
    execution = RunExecution(created, launcher, observer, options, memory_bytes=memory_bytes)
    execution.decline = observer.decline
    execution.whole_budget_s = order.whole_budget_s
    observer.folder = execution.folder
    try:
        with execution.occupied():
            execution.measure()
    except BenchError as error:
        return error
    finally:
        send_files(execution.folder, wire)
        new = artifacts_at_hand(folder) - known  # other hosts need not make them
        for shared in sorted(new, key=lambda one: (one.folder, one.path)):
            if content := content_of(folder, shared):
                wire.send(shared, content)
    return None


def _run_file(order: Order, body: bytes) -> RunFile:
    if order.version != runner.__version__:
        raise Unavailable(
            f"{order.host} has accelmatrix {runner.__version__}, the driver {order.version}",
            hint="install the same version on both",
        )
    if order.sources not in (None, runner_digest()):
        raise Unavailable(
            f"{order.host} has other sources of the runner than the driver",
            hint="install the same commit on both",
        )
    try:
        return RunFile.model_validate_json(body)
    except ValidationError as error:
        raise DamagedFile(f"the ordered run cannot be read: {first_fault(error)}") from error


def _as_own(run: RunFile, folder: Path) -> RunFile:
    """The run with what is this host's and not the driver's."""
    return run.model_copy(
        update={
            "hostname": socket.gethostname(),
            "git_commit": own_commit(),
            "process_spreads": dict(read_spreads(folder, this_host())),
        }
    )


def orders_folder() -> Path:
    """The folder of all orders of this user, made if need be."""
    folder = cache_folder() / "fleet"
    with translate_os_errors(folder, "the orders of a fleet cannot be kept here"):
        folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextmanager
def order_folder(folder: Path, order: str) -> Iterator[None]:
    """Hold the name of an order's folder, and remove the folder in the end.

    What orders left whose process died is removed first: nobody holds their names.
    """
    for path in folder.glob(f"*{_LOCK_SUFFIX}"):
        with suppress(Timeout, OSError), FileLock(path, timeout=0):
            remove_tree(folder / path.name.removesuffix(_LOCK_SUFFIX))
            path.unlink()
    lock = FileLock(folder / f"{order}{_LOCK_SUFFIX}")
    with lock:
        try:
            yield
        finally:
            remove_tree(folder / order)
            with suppress(OSError):
                Path(lock.lock_file).unlink()
