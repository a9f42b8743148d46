"""One order's conversation: its begin, its silence, its end."""

import io
from collections.abc import Callable
from queue import Queue
from threading import Event

import pytest

from orchestrator.fleet.farewell import end_all
from orchestrator.fleet.frames import Frame, encode, hear_nothing, read_frame
from orchestrator.fleet.messages import Beat, Ended, frame_of
from orchestrator.fleet.talk import Heard, Talk
from orchestrator.fleet.transport import Conversation
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

    talk = Talk(begin, "a", "order", heard, clock=clock)
    talk.start([])
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

    talk = Talk(begin, "a", "order", Queue())
    talk.start([])
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

    Talk(begin, "a", "order", heard).start([])
    assert str(heard.get(timeout=10).obstacle) == obstacle


def test_conversations_are_ended_side_by_side() -> None:
    both = Event()
    begun = list[int]()

    class Slow:
        def end(self) -> None:
            begun.append(1)
            if len(begun) == 2:
                both.set()
            both.wait(60)

    end_all([Slow(), Slow()])
    assert both.is_set()


def test_a_large_frame_shows_life_before_it_is_whole() -> None:
    signs = list[None]()
    frame = frame_of(Ended(), bytes(1 << 20))
    assert read_frame(io.BytesIO(encode(frame)), lambda: signs.append(None)) == frame
    assert len(signs) > 16


def test_a_disarmed_watch_ends_nothing() -> None:
    ended, stream = list[None](), io.BytesIO()
    watch = DriverWatch(stream, 30, lambda: ended.append(None))
    watch.disarm()
    watch._listen()
    assert (ended, watch.reason) == ([], None)
    armed = DriverWatch(stream, 30, lambda: ended.append(None))
    armed._listen()
    assert (ended, armed.reason) == ([None], "the driver is gone")
