"""Classify errors inside a cell: unsupported, unavailable, out of memory or failed."""

from typing import Literal

from runner.backends.base import RuntimeModule
from runner.contract.errors import BenchError, Unavailable, Unsupported

FailureKind = Literal["unsupported", "unavailable", "out_of_memory", "failed"]


def failure_kind(error: BaseException, runtime: RuntimeModule | None) -> FailureKind:
    """The status that the error means; `runtime` is None before it has been imported."""
    if isinstance(error, Unsupported):
        return "unsupported"
    if isinstance(error, Unavailable):
        return "unavailable"
    return "out_of_memory" if ran_out_of_memory(error, runtime) else "failed"


def ran_out_of_memory(error: BaseException, runtime: RuntimeModule | None) -> bool:
    """True if Python or the runtime says by that error that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    return runtime is not None and runtime.is_out_of_memory(error)


def failure_reason(error: BaseException) -> str:
    """The error as a record's reason: the message of our own errors, type and message of others."""
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
