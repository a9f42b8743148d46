"""The end of a run that is interrupted: no patience with a second Ctrl-C."""

import os
import signal
from collections.abc import Iterator

import pytest

from orchestrator.fleet.farewell import prompt_interrupts


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
