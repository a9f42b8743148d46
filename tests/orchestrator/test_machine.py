"""Only who plans for this machine looks at it."""

import psutil

from orchestrator.machine import Machine, this_machine


def test_a_job_may_use_less_than_this_machine_has() -> None:
    allowed = this_machine().memory_bytes
    assert allowed is not None
    assert 0 < allowed < psutil.virtual_memory().total


def test_of_another_machine_nothing_is_known() -> None:
    assert Machine() == Machine(memory_bytes=None, unavailable={})
