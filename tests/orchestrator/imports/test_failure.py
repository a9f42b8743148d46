"""Somebody else's error becomes a verdict and a short reason."""

import pytest

from orchestrator.imports.failure import reason_of, status_of

TRACEBACK = """Traceback (most recent call last):
  File "benchmark.py", line 3, in <module>
    raise RuntimeError("no module named x timed out")
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB
"""


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("CUDA out of memory", "out_of_memory"),
        (TRACEBACK, "out_of_memory"),
        ("std::bad_alloc", "out_of_memory"),
        ("Process timed out after 600 s", "timeout"),
        ("NotImplementedError: operator is not supported on MPS", "unsupported"),
        ("ModuleNotFoundError: No module named 'openvino'", "unavailable"),
        ("ValueError: shapes do not match", "failed"),
    ],
)
def test_says_what_kind_of_failure_it_was(error: str, status: str) -> None:
    assert status_of(error) == status


def test_the_last_line_of_a_traceback_tells() -> None:
    told = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    assert reason_of(TRACEBACK) == told


def test_other_errors_tell_in_their_first_lines() -> None:
    assert reason_of("one\n\n two\nthree\nfour\n") == "one\ntwo\nthree"
    assert len(reason_of("x" * 1000)) == 500
