"""Calls of Ray in threads: a driver leaves its cluster when they have returned, and begins none."""

from threading import Event, Thread

import pytest

from orchestrator.fleet.transports.ray_calls import LeftCluster, RayCalls


def test_who_leaves_waits_for_the_call_under_way() -> None:
    calls, inside, end = RayCalls(), Event(), Event()

    def call() -> None:
        with calls.one():
            inside.set()
            end.wait(10)

    thread = Thread(target=call)
    thread.start()
    assert inside.wait(10)
    assert not calls.leave(0.01)
    end.set()
    assert calls.leave(10)
    thread.join()


def test_after_that_none_begins() -> None:
    calls = RayCalls()
    assert calls.leave(0)
    with pytest.raises(LeftCluster), calls.one():
        pytest.fail("Ray was called")


def test_a_call_that_fails_is_over_too() -> None:
    calls = RayCalls()
    with pytest.raises(StopIteration), calls.one():
        raise StopIteration
    assert calls.leave(0)
