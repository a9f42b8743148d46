"""What an error inside a cell amounts to, said once for all who meet one."""

from typing import Literal

from runner.backends.base import RuntimeModule
from runner.contract.errors import BenchError, Unavailable, Unsupported

FailureKind = Literal["unsupported", "unavailable", "out_of_memory", "failed"]


def kind_of(error: BaseException, runtime: RuntimeModule | None) -> FailureKind:
    """The verdict that the error means; `runtime` may be None if it is not there yet."""
    if isinstance(error, Unsupported):
        return "unsupported"
    if isinstance(error, Unavailable):
        return "unavailable"
    return "out_of_memory" if ran_out_of_memory(error, runtime) else "failed"


def ran_out_of_memory(error: BaseException, runtime: RuntimeModule | None) -> bool:
    """Whether it says, in Python's way or in the runtime's, that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    return runtime is not None and runtime.is_out_of_memory(error)


def reason_of(error: BaseException) -> str:
    """The error as a record's reason: our own speak for themselves, others need their type."""
    return str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
