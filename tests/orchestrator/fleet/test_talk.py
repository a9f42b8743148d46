"""A conversation with a host: its begin, its orders, its silence, its end, also by Ctrl-C."""

import io
import os
import signal
from collections.abc import Callable, Iterator
from queue import Queue
from threading import Event

import pytest

from orchestrator.fleet.messages import (
    Beat,
    Ended,
    Frame,
    Shared,
    ToHost,
    encode,
    frame_of,
    hear_nothing,
    read_frame,
)
from orchestrator.fleet.transport import Conversation, Heard, Talk, prompt_interrupts
from orchestrator.fleet.wire import DriverWatch
from runner.contract.errors import Unavailable
from tests.orchestrator.fleet.test_presence import Clock
from tests.support.fleet import soon


class Held:
    """A conversation that says what a test gives it."""

    def __init__(self) -> None:
        self.says: Queue[Frame | None] = Queue()
        self.ended = Event()

    def send(self, frame: Frame) -> None: ...

    def receive(self, alive: Callable[[], None] = hear_nothing) -> Frame | None:
        return self.says.get()

    def end(self) -> None:
        self.ended.set()
        self.says.put(None)


def test_silence_counts_from_the_first_word_on() -> None:
    clock, held, heard = Clock(), Held(), Queue[Heard]()
    begins = Event()

    def begin() -> Conversation:
        begins.wait(60)
        return held

    talk = Talk(begin, "a", heard, clock=clock)
    talk.give("order", [])
    clock.now += 1000
    assert not talk.is_silent(30, 120)
    begins.set()
    assert soon(lambda: talk._begun_at is not None)
    clock.now += 121
    assert talk.is_silent(30, 120)
    assert not talk.is_silent(30, None)
    held.says.put(frame_of(Beat()))
    assert soon(lambda: not talk.is_silent(30, 120))
    clock.now += 31
    assert talk.is_silent(30, None)
    talk.end()
    assert heard.get(timeout=10).message is None


def test_what_ends_before_its_begin_is_ended_as_it_begins() -> None:
    held, begins = Held(), Event()

    def begin() -> Conversation:
        begins.wait(60)
        return held

    talk = Talk(begin, "a", Queue())
    talk.give("order", [])
    talk.end()
    begins.set()
    assert held.ended.wait(10)


@pytest.mark.parametrize(
    ("error", "obstacle"),
    [
        (Unavailable("a: no route"), "a: no route"),
        (SystemExit("the head is gone"), "host a: cannot be reached: the head is gone"),
    ],
)
def test_an_obstacle_is_heard(error: BaseException, obstacle: str) -> None:
    heard = Queue[Heard]()

    def begin() -> Conversation:
        raise error

    Talk(begin, "a", heard).give("order", [])
    assert str(heard.get(timeout=10).obstacle) == obstacle


def test_a_large_frame_shows_life_before_it_is_whole() -> None:
    signs = list[None]()
    frame = frame_of(Ended(), bytes(1 << 20))
    assert read_frame(io.BytesIO(encode(frame)), lambda: signs.append(None)) == frame
    assert len(signs) > 16


def test_what_is_heard_belongs_to_the_order_given_last() -> None:
    held, heard, begun = Held(), Queue[Heard](), list[Held]()

    def begin() -> Conversation:
        begun.append(held)
        return held

    talk = Talk(begin, "a", heard)
    for order in ("order-1", "order-2"):
        talk.give(order, [])
        held.says.put(frame_of(Ended()))
        news = heard.get(timeout=10)
        assert (news.order, news.message) == (order, Ended())
    assert begun == [held]
    talk.end()


def test_a_driver_that_goes_ends_an_order_and_nothing_after_it() -> None:
    ended, listening, saying = Event(), *os.pipe()
    with os.fdopen(listening, "rb", buffering=0) as stream:
        watch = DriverWatch(stream, 30, ended.set)
        watch.listen()
        watch.disarm()
        os.close(saying)
        assert watch.next_message() is None
        assert (ended.is_set(), watch.reason) == (False, None)
        watch.listen()
        assert ended.wait(10)
        assert watch.reason == "the driver is gone"


def test_what_follows_an_order_is_not_lost() -> None:
    files = [Shared(folder="references", path=(name,)) for name in ("a.npz", "b.npz")]
    said: list[ToHost] = [Beat(), *files]
    watch = DriverWatch(io.BytesIO(b"".join(encode(frame_of(one)) for one in said)), 30, list)
    watch.listen()
    watch.disarm()
    assert [watch.next_message() for _ in range(3)] == [(files[0], b""), (files[1], b""), None]


@pytest.fixture
def patient() -> Iterator[list[int]]:
    """The signals that a patient handler has swallowed."""
    swallowed = list[int]()
    before = signal.signal(signal.SIGINT, lambda number, _: swallowed.append(number))
    yield swallowed
    signal.signal(signal.SIGINT, before)


def test_a_second_ctrl_c_is_not_asked_for_patience(patient: list[int]) -> None:
    with pytest.raises(KeyboardInterrupt), prompt_interrupts():
        os.kill(os.getpid(), signal.SIGINT)
    os.kill(os.getpid(), signal.SIGINT)
    assert patient == [signal.SIGINT]


def test_a_job_in_the_background_that_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with prompt_interrupts():
            os.kill(os.getpid(), signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
