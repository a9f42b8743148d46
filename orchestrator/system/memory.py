"""A limit of this process's own memory."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager

import psutil


@contextmanager
def limited_growth(most_bytes: int) -> Iterator[None]:
    """Let this process take no more memory than this beside what it has; beyond is MemoryError.

    Elsewhere than on Linux nothing is limited.
    """
    has_bytes = getattr(psutil.Process().memory_info(), "data", None)
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if has_bytes is None:
        yield
        return
    limits = [has_bytes + most_bytes, *(n for n in (before, hard) if n != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))
