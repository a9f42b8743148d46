"""The host's program before an order begins: what it keeps, what it refuses, when it gives up."""

import os
from contextlib import suppress
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from threading import Event

import numpy
import pytest

import runner
from orchestrator.commands.fleet.host_program import order_folder, orders_folder, serve_driver
from orchestrator.fleet.messages import (
    Beat,
    Cancel,
    Declined,
    Frame,
    Noted,
    Order,
    Refused,
    Shared,
    ToDriver,
    encode,
    frame_of,
    message_to_driver,
    read_frame,
)
from orchestrator.fleet.wire import SendingObserver, Wire
from orchestrator.running.execution import RunExecution
from orchestrator.running.options import RunOptions
from orchestrator.running.run_file import run_file_text
from runner.contract.errors import ImageError, StoreError, UsageError
from tests.support.fakes import ScriptedLauncher
from tests.support.runs import a_plan, a_run_folder

ORDER = Order(id="order-1", host="a", transport="ssh", version=runner.__version__)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of this test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "accelmatrix" / "fleet"


def refusal(out: BytesIO) -> Refused:
    frame = read_frame(BytesIO(out.getvalue()))
    assert frame is not None
    message = message_to_driver(frame)
    assert isinstance(message, Refused)
    return message


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"hello\n", "stdin: no frame: 'hello\\n'"),
        (encode(frame_of(Beat()))[:-1], "stdin: the stream ended within a frame"),
        (encode(Frame(b"{}")), "stdin: no message of this version: "),
    ],
)
def test_what_is_no_message_is_refused(said: bytes, reason: str) -> None:
    out = BytesIO()
    with pytest.raises(UsageError) as refused:
        serve_driver(BytesIO(said), out)
    assert refused.value.exit_code == 2
    assert str(refused.value).startswith(reason)
    assert refusal(out) == Refused(reason=str(refused.value), hint=refused.value.hint)


def test_a_cancel_of_an_order_that_has_ended_changes_nothing() -> None:
    out = BytesIO()
    assert serve_driver(BytesIO(encode(frame_of(Cancel()))), out) == 0
    assert out.getvalue() == b""


@pytest.mark.parametrize(
    ("order", "body", "reason"),
    [
        (ORDER, b"{}", "the ordered run cannot be read: "),
        (ORDER.model_copy(update={"version": "0.0.1"}), b"", "the driver 0.0.1"),
        (ORDER.model_copy(update={"sources": "another"}), b"", "has other sources of the runner"),
    ],
)
def test_an_order_that_cannot_be_executed_is_refused(
    order: Order, body: bytes, reason: str
) -> None:
    out = BytesIO()
    assert serve_driver(BytesIO(encode(frame_of(order, body))), out, end=lambda: None) != 0
    assert reason in refusal(out).reason


def test_files_before_an_order_are_kept_once(cache: Path) -> None:
    shared, bodies = Shared(folder="references", path=("key.npz",)), list[bytes]()
    for value in (1.0, 2.0):
        file = BytesIO()
        numpy.savez(file, logits=numpy.full(3, value))
        bodies.append(file.getvalue())
    said = b"".join(encode(frame_of(shared, body)) for body in bodies)
    assert serve_driver(BytesIO(said), BytesIO()) == 0
    assert (cache / "references" / "key.npz").read_bytes() == bodies[0]


def test_a_full_disk_is_refused_by_its_name(cache: Path) -> None:
    cache.mkdir(parents=True)
    (cache / "references").touch()  # no folder can be made in its place
    frame = frame_of(Shared(folder="references", path=("key.npz",)), b"a")
    out = BytesIO()
    assert serve_driver(BytesIO(encode(frame)), out) == StoreError.exit_code
    assert str(cache / "references") in refusal(out).reason
    assert refusal(out).exit_code == StoreError.exit_code


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"hardware": "another"}, "a has other hardware than the host of its name"),
        ({}, "--inherit-environ: 'NO_SUCH_VARIABLE' is not set"),
    ],
)
def test_a_host_that_is_not_what_was_asked_for_refuses(
    tmp_path: Path, changes: dict[str, str], reason: str
) -> None:
    run = a_run_folder(tmp_path / "driver").run
    if not changes:
        options = replace(run.options, inherit_environ=["NO_SUCH_VARIABLE"])
        run = run.model_copy(update={"options": options})
    order, out = ORDER.model_copy(update=changes), BytesIO()
    stream = BytesIO(encode(frame_of(order, run_file_text(run).encode())))
    with suppress(UsageError):
        serve_driver(stream, out, end=lambda: None)
    assert reason in refusal(out).reason


def test_what_cannot_be_launched_is_declined_once_and_has_no_verdict(tmp_path: Path) -> None:
    launcher, out = ScriptedLauncher(), BytesIO()
    launcher.refusals["fake"] = ImageError("the build failed", hint="mend it")
    folder = a_run_folder(tmp_path, a_plan(rounds=2))
    options = RunOptions(scratch=True)
    observer = SendingObserver(Wire(out), "ssh")
    execution = RunExecution(folder, launcher, observer, options)
    execution.decline = observer.decline
    observer.folder = folder
    execution.measure()
    stream, said = BytesIO(out.getvalue()), list[ToDriver]()
    while (frame := read_frame(stream)) is not None:
        said.append(message_to_driver(frame))
    declined = [message for message in said if not isinstance(message, Noted)]
    assert declined == [
        Declined(backend="fake", reason="the build failed", hint="mend it", exit_code=5)
    ]
    assert folder.verdicts() == {}


def test_a_driver_that_says_nothing_is_not_waited_for() -> None:
    listening, saying = os.pipe()
    ended = Event()

    def end() -> None:
        ended.set()
        os.close(saying)

    with os.fdopen(listening, "rb", buffering=0) as stream:
        assert serve_driver(stream, BytesIO(), silence_s=0.02, end=end) == 0
    assert ended.is_set()


def test_folders_of_dead_orders_go_and_those_of_living_ones_stay() -> None:
    folder = orders_folder()
    for name in ("dead", "alive", "references"):
        (folder / name).mkdir()
    (folder / "dead.lock").touch()
    with order_folder(folder, "alive"), order_folder(folder, "order-2"):
        assert {path.name for path in folder.glob("[!o]*")} == {"alive", "alive.lock", "references"}
    assert [path.name for path in folder.iterdir()] == ["references"]


def test_an_interrupted_order_leaves_nothing() -> None:
    folder = orders_folder()

    def interrupted() -> None:
        with order_folder(folder, "order-1"):
            (folder / "order-1").mkdir()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert list(folder.iterdir()) == []
