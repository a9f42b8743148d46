"""The program that a transport starts on a host: it answers a question, or executes one order."""

import os
import signal
import socket
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread, Timer
from typing import BinaryIO

from pydantic import ValidationError

import runner
from orchestrator.app.fleet.order_folders import keep_shared, order_folder, orders_folder
from orchestrator.app.fleet.own_facts import read_own_facts
from orchestrator.backends.machine import this_host, this_machine
from orchestrator.fleet.daemons import MeteringObserver, meter_of_this_host
from orchestrator.fleet.messages import (
    Ended,
    FactsWanted,
    Known,
    Order,
    Refused,
    Shared,
)
from orchestrator.fleet.sending import send_files
from orchestrator.fleet.shared_references import SENT_BYTES, SUFFIX
from orchestrator.fleet.talk import BEAT_S, SILENCE_S
from orchestrator.fleet.wire import DriverWatch, Wire, next_message
from orchestrator.launchers.base import Launcher
from orchestrator.launchers.registry import make_launcher
from orchestrator.running.artifacts.references import REFERENCES_FOLDER
from orchestrator.running.calibration import read_spreads
from orchestrator.running.create import require_space
from orchestrator.running.execution import RunExecution
from orchestrator.running.folder import RunFolder
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import RunFile
from orchestrator.system.git import own_commit
from orchestrator.system.problems import first_fault
from runner.contract.errors import BenchError, DamagedFile, Unavailable, UsageError


@dataclass(frozen=True)
class Waits:
    """Seconds that the program waits for its driver."""

    silence_s: float = SILENCE_S
    beat_s: float = BEAT_S


def serve_driver(
    stream: BinaryIO,
    out: BinaryIO,
    *,
    waits: Waits = Waits(),
    end: Callable[[], None] = lambda: os.kill(os.getpid(), signal.SIGTERM),
) -> int:
    """Answer what the driver asks, or execute what it orders; returns an exit status.

    Args:
        stream: the driver's frames.
        out: takes the frames for the driver; nothing else may write there.
        waits: how long either side may be silent.
        end: ends this program in an orderly way, called by another thread.

    Raises:
        UsageError: what came is no message of a driver.
    """
    wire, stop = Wire(out), Event()
    try:
        question = _request(stream, waits.silence_s, end)
    except DamagedFile as error:
        hint = "`orchestrator run --fleet` starts this program on hosts and writes to it"
        wire.send(Refused(reason=f"stdin: {error}", hint=hint))
        raise UsageError(f"stdin: {error}", hint=hint) from error
    if question is None:
        return 0
    message, body = question
    Thread(target=wire.beat, args=(waits.beat_s, stop), daemon=True).start()
    try:
        if isinstance(message, FactsWanted):
            wire.send(Known(facts=read_own_facts(message.launcher, message.purpose)))
        else:
            watch = DriverWatch(stream, waits.silence_s, end)
            _execute(message, body, wire, lambda: watch.start(stop))
    except BenchError as error:
        wire.send(Refused(reason=str(error), hint=error.hint))
        return error.exit_code
    finally:
        stop.set()
    return 0


def _request(
    stream: BinaryIO, silence_s: float, end: Callable[[], None]
) -> tuple[FactsWanted | Order, bytes] | None:
    """The driver's question or order; files that come before it are kept for all orders.

    Raises:
        DamagedFile: what came is no message, or none that begins a conversation.
        StoreError: a file cannot be kept.
    """
    while True:
        silence = Timer(silence_s, end)
        silence.daemon = True
        silence.start()
        try:
            received = next_message(stream)
        finally:
            silence.cancel()
        if received is None:
            return None
        message, body = received
        if isinstance(message, FactsWanted | Order):
            return message, body
        if not isinstance(message, Shared):
            raise DamagedFile(f"a conversation that begins with {message.kind!r}")
        keep_shared(orders_folder(), message, body)


def _execute(order: Order, body: bytes, wire: Wire, watch: Callable[[], None]) -> None:
    """Execute an order, and send all that comes of it.

    Raises:
        BenchError: nothing of it was begun.
    """
    watch()
    run = _run_file(order, body)
    folder = orders_folder()
    require_space(folder)
    observer = MeteringObserver(wire, order.transport, meter_of_this_host(wire))
    launcher = make_launcher(run.launcher, observer.image_step, chosen=run.images)
    _require_digests(order, launcher)
    with order_folder(folder, order.id):
        known = {path.name for path in (folder / REFERENCES_FOLDER).glob(f"*{SUFFIX}")}
        execution = RunExecution(
            RunFolder.create(folder, _as_own(run, folder), order.id),
            launcher,
            observer,
            RunOptions(budget_s=order.budget_s, fail_fast=order.fail_fast),
            memory_bytes=this_machine().memory_bytes,
        )
        observer.folder = execution.folder
        troubles = _measure(execution, wire)
        _send_references(folder / REFERENCES_FOLDER, known, wire)
        wire.send(
            Ended(
                troubles=tuple(
                    f"{error}; {error.hint}" if error.hint else str(error) for error in troubles
                )
            )
        )


def _measure(execution: RunExecution, wire: Wire) -> tuple[BenchError, ...]:
    """Measure, and send what was left beside records; returns the errors that were in the way."""
    try:
        with execution.occupied():
            execution.measure()
    except BenchError as error:  # what was measured is the driver's already: no refusal
        return *execution.troubles, error
    finally:
        send_files(execution.folder, wire)
    return execution.troubles


def _run_file(order: Order, body: bytes) -> RunFile:
    """The ordered run.

    Raises:
        Unavailable: it is of another version.
        DamagedFile: it is none.
    """
    if order.version != runner.__version__:
        raise Unavailable(
            f"{order.host} has accelmatrix {runner.__version__}, the driver {order.version}",
            hint="install the same version on both",
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
            "database": None,
            "process_spreads": dict(read_spreads(folder, this_host())),
        }
    )


def _require_digests(order: Order, launcher: Launcher) -> None:
    """Insist that jobs execute in the very images that the driver names.

    Raises:
        Unavailable: one is another.
    """
    for backend, digest in order.digests.items():
        image = launcher.prepare(backend).image_digest
        if image != digest:
            raise Unavailable(
                f"{order.host} has another image of backend {backend}: {image}, not {digest}",
                hint=f"on the host: `orchestrator images pull {backend}`",
            )


def _send_references(folder: Path, known: set[str], wire: Wire) -> None:
    """Send the references that this order has made, so that other hosts need not make them."""
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        if path.name not in known and path.stat().st_size <= SENT_BYTES:
            shared = Shared(folder="references", path=(path.name,))
            wire.send(shared, path.read_bytes())
