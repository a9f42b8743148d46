"""An error means the same verdict wherever it strikes."""

import pytest

from runner.backends import load_runtime
from runner.backends.base import FailureKind, failure_kind, failure_reason, ran_out_of_memory
from runner.contract.errors import BenchError, TimedOut, Unavailable, Unsupported


@pytest.mark.parametrize(
    ("error", "kind", "reason"),
    [
        (Unsupported("no such operator"), "unsupported", "no such operator"),
        (Unavailable("no such device"), "unavailable", "no such device"),
        (TimedOut("a page is silent"), "timeout", "a page is silent"),
        (BenchError("outputs hold NaN"), "failed", "outputs hold NaN"),
        (MemoryError("no room"), "out_of_memory", "MemoryError: no room"),
        (ValueError("a shape"), "failed", "ValueError: a shape"),
    ],
)
def test_each_error_has_a_verdict_and_a_reason(
    error: Exception, kind: FailureKind, reason: str
) -> None:
    assert failure_kind(error, None) == kind
    assert failure_reason(error) == reason


def test_a_runtime_says_in_its_own_way_that_memory_ran_out() -> None:
    error = RuntimeError(
        "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: not enough memory"
    )
    assert ran_out_of_memory(error, load_runtime("torch"))
    assert not ran_out_of_memory(error, load_runtime("fake"))
    assert not ran_out_of_memory(error, None)
