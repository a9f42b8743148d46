"""A limit of this process's own memory."""

import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_STATUS, _DATA_PAGES = Path("/proc/self/statm"), 5
"""The sizes of this process in pages, and the place of the one that the limit is about."""


@contextmanager
def limited_growth(most_bytes: int) -> Iterator[None]:
    """Let this process take no more memory than this beside what it has; beyond is MemoryError.

    Elsewhere than on Linux nothing is limited.
    """
    if not _STATUS.exists():
        yield
        return
    has_bytes = int(_STATUS.read_text().split()[_DATA_PAGES]) * resource.getpagesize()
    before, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limits = [has_bytes + most_bytes, *(n for n in (before, hard) if n != resource.RLIM_INFINITY)]
    resource.setrlimit(resource.RLIMIT_DATA, (min(limits), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, (before, hard))
