"""An error's verdict, observed calls, and the fake backend's scripted faults."""

from typing import Any
from unittest.mock import Mock

import pytest

from runner.backends import load_runtime
from runner.backends.base import FailureKind, failure_kind, ran_out_of_memory
from runner.backends.evidence import Kernels, UnseenKernels, look_again
from runner.backends.fake import FakeSession, open_session
from runner.contract.errors import BenchError, TimedOut, Unavailable, Unsupported
from runner.contract.job import Limits
from runner.contract.reasons import reason
from tests.support.fakes import FakeClock
from tests.support.jobs import a_job, fake_cell, fake_model


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


@pytest.mark.parametrize(
    ("limit", "weights", "look", "missing"),
    [
        (None, 10, Mock(return_value=Kernels(0.5, 1.0)), None),
        (1 << 20, 10, Mock(side_effect=AssertionError), "no room for the model once more"),
        (None, 1 << 60, Mock(side_effect=AssertionError), "no room for the model once more"),
        (None, 10, Mock(side_effect=RuntimeError("out of memory")), "RuntimeError: out of memory"),
    ],
    ids=["loads", "a small limit", "a large model", "does not load"],
)
def test_a_model_that_cannot_be_loaded_once_more_leaves_the_reason(
    limit: int | None, weights: int, look: Mock, missing: str | None
) -> None:
    kernels = look_again(a_job(limits=Limits(memory_bytes=limit)), weights, look)
    if missing is None:
        assert kernels.evidence["kernel_share"] == "0.500"
    else:
        assert isinstance(kernels, UnseenKernels)
        assert missing in kernels.evidence["kernel_share_missing"]


CELL = fake_cell(2, new_tokens=4)


def a_session(faults: dict[str, str] | None = None, **config: Any) -> FakeSession:
    return open_session(a_job([CELL], fake_model(faults, **{"latency_s": 0, **config})), threads=1)


@pytest.mark.parametrize("what", ["query", "generation", "training"])
def test_faults_strike_the_cells_they_name(what: str) -> None:
    session = a_session({"*-b2-*": "raise"})
    actions: dict[str, Any] = {
        "query": session.bind(CELL, {}),
        "generation": session.bind_generation(CELL, {}, FakeClock()),
        "training": session.bind_training(CELL, {}, FakeClock()).step,
    }
    with pytest.raises(RuntimeError, match="a scripted failure"):
        actions[what]()
    session.bind(fake_cell(1), {})()
