"""Observed calls, also one that fails."""

from unittest.mock import Mock

import pytest

from runner.backends.evidence import Kernels, UnseenKernels, look_again
from runner.contract.job import Limits
from tests.support.jobs import a_job


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
