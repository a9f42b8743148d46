"""Observed calls, also one that fails."""

from unittest.mock import Mock

import pytest

from runner.backends.evidence import (
    Kernels,
    UnseenKernels,
    busy_time,
    join_distinct,
    look_again,
    observe,
)
from runner.contract.job import Limits
from tests.support.jobs import a_job


def test_a_call_that_ends_well_gives_its_outputs_and_its_times() -> None:
    observed = observe(lambda: 3)
    assert (observed.outputs, observed.error, observed.failure) == (3, None, {})
    assert set(observed.times) == {"wall_s", "cpu_time_s"}
    assert observed.wall_s >= 0
    assert observed.cpu_time_s >= 0


def test_what_a_call_raises_is_evidence() -> None:
    observed = observe(lambda: int("no number"))
    assert observed.outputs is None
    assert observed.failure["error"].startswith("ValueError: invalid literal")


def test_words_are_told_once_each_and_in_order() -> None:
    assert join_distinct(["cuda:0", "cpu", "cuda:0"]) == "cpu+cuda:0"
    assert join_distinct([]) == "none"


def test_spans_that_overlap_count_once() -> None:
    assert busy_time([(30, 50), (0, 10), (40, 60), (45, 48)]) == 40
    assert busy_time([]) == 0


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
    job = a_job(limits=Limits(memory_bytes=limit))
    kernels = look_again(job, weights, look)
    if missing is None:
        assert kernels.evidence["kernel_share"] == "0.500"
    else:
        assert isinstance(kernels, UnseenKernels)
        assert missing in kernels.evidence["kernel_share_missing"]
