"""What OpenVINO's errors mean."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from runner.errors import Unsupported

OUT_OF_MEMORY = re.compile(
    r"bad_alloc|bad allocation"
    r"|Failed to allocate (\d+ bytes of |zero )?memory"
    r"|Exceeded max size of memory|buffer allocation failed|out of GPU resources"
    r"|CL_(OUT_OF_RESOURCES|OUT_OF_HOST_MEMORY|MEM_OBJECT_ALLOCATION_FAILURE)"
    r"|ZE_RESULT_ERROR_OUT_OF_(DEVICE|HOST)_MEMORY"
)
"""What the plugins for CPU, GPU and NPU say, and the allocator that all of them use."""
LOCATION = re.compile(r"Exception from \S+:\d+:")
LONGEST = 400


def is_out_of_memory(error: BaseException) -> bool:
    """Whether OpenVINO says that memory ran out."""
    return isinstance(error, RuntimeError) and OUT_OF_MEMORY.search(str(error)) is not None


@contextmanager
def refusals(deed: str) -> Iterator[None]:
    """Take an error for the reason why OpenVINO cannot do this with the model.

    Raises:
        Unsupported: it cannot. A lack of memory stays the error it was.
    """
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        raise Unsupported(f"OpenVINO cannot {deed}: {_told(error)}") from error


def _told(error: RuntimeError) -> str:
    """Its words in one line, without the places in OpenVINO's source that it went through."""
    return " ".join(LOCATION.sub("", str(error)).split())[:LONGEST]
