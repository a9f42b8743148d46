"""An error means the same verdict wherever it strikes."""

import pytest

from runner.backends import load_runtime
from runner.backends.base import FailureKind, failure_kind, ran_out_of_memory
from runner.contract.errors import BenchError, TimedOut, Unavailable, Unsupported
from runner.contract.reasons import reason


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Unsupported("no such operator"), "unsupported"),
        (Unavailable("no such device"), "unavailable"),
        (TimedOut(reason("page_silent")), "timeout"),
        (BenchError("outputs hold NaN"), "failed"),
        (MemoryError("no room"), "out_of_memory"),
        (ValueError("a shape"), "failed"),
    ],
)
def test_each_error_has_a_verdict(error: Exception, kind: FailureKind) -> None:
    assert failure_kind(error, None) == kind


def test_a_runtime_says_in_its_own_way_that_memory_ran_out() -> None:
    error = RuntimeError(
        "[enforce fail at alloc_cpu.cpp:124] DefaultCPUAllocator: not enough memory"
    )
    assert ran_out_of_memory(error, load_runtime("torch"))
    assert not ran_out_of_memory(error, load_runtime("fake"))
    assert not ran_out_of_memory(error, None)
