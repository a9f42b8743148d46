"""Ctrl-C, for tests of what hears it."""

import os
import signal
from collections.abc import Callable, Iterator
from threading import Timer

import pytest

PAUSE_S = 0.2


@pytest.fixture
def ctrl_c() -> Iterator[Callable[[], None]]:
    """Press it in a moment; this process hears it even as a job in a shell's background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda: Timer(PAUSE_S, os.kill, (os.getpid(), signal.SIGINT)).start()
    signal.signal(signal.SIGINT, before)
