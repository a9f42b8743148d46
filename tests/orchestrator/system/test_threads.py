"""Work in a thread of its own: results, errors, limits, and Ctrl-C at any moment of a wait."""

import random
import signal
from collections.abc import Iterator
from threading import Event
from types import FrameType

import pytest

from orchestrator.system.threads import WorkThread


@pytest.fixture
def thread() -> Iterator[WorkThread]:
    thread = WorkThread()
    yield thread
    thread.join()


@pytest.fixture
def alarms() -> Iterator[random.Random]:
    """Alarms interrupt as Ctrl-C does."""

    def take(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, take)
    yield random.Random(7)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def test_results_and_errors_are_passed_on(thread: WorkThread) -> None:
    assert thread.submit(lambda: 3).result() == 3
    with pytest.raises(ZeroDivisionError):
        thread.submit(lambda: 1 // 0).result()


def test_work_that_takes_too_long_is_told(thread: WorkThread) -> None:
    gate = Event()
    work = thread.submit(gate.wait)
    with pytest.raises(TimeoutError):
        work.result(0.01)
    assert not work.is_done
    gate.set()
    assert work.result(60)


def test_ctrl_c_at_any_moment_of_a_wait_harms_nothing(
    thread: WorkThread, alarms: random.Random
) -> None:
    def wait_for_ever() -> None:
        signal.setitimer(signal.ITIMER_REAL, alarms.uniform(0.00005, 0.0005))
        while True:
            thread.submit(lambda: 1).result()

    for _ in range(1000):
        with pytest.raises(KeyboardInterrupt):  # and no RuntimeError of a lock
            wait_for_ever()
    assert thread.submit(lambda: 2).result(60) == 2
