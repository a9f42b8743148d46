"""Work in a thread of its own: results, errors, limits, and Ctrl-C at any moment of a wait."""

import random
import signal
from collections.abc import Iterator
from threading import Event
from types import FrameType

import pytest

from orchestrator.system.threads import InterruptibleThread


@pytest.fixture
def thread() -> Iterator[InterruptibleThread]:
    with InterruptibleThread(lambda: None) as thread:
        yield thread


@pytest.fixture
def alarms() -> Iterator[random.Random]:
    """Alarms interrupt as Ctrl-C does."""

    def take(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, take)
    yield random.Random(7)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_results_and_errors_are_passed_on(thread: InterruptibleThread) -> None:
    assert thread.wait_for(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        thread.wait_for(lambda: 1 // 0)


def test_work_that_hears_no_interruption_is_given_up() -> None:
    gate, released = Event(), Event()
    thread = InterruptibleThread(lambda: None, 0.01, patience_s=0.01)
    with pytest.raises(TimeoutError):
        thread.wait_for(gate.wait)
    thread.close(released.set)
    assert InterruptibleThread.has_given_up()
    gate.set()
    assert released.wait(60)


def test_ctrl_c_at_any_moment_of_a_wait_harms_nothing(
    thread: InterruptibleThread, alarms: random.Random
) -> None:
    def wait_for_ever() -> None:
        signal.setitimer(signal.ITIMER_REAL, alarms.uniform(0.00005, 0.0005))
        while True:
            thread.wait_for(lambda: 1)

    for _ in range(1000):
        with pytest.raises(KeyboardInterrupt):  # and no RuntimeError of a lock
            wait_for_ever()
    assert thread.wait_for(lambda: 2) == 2
