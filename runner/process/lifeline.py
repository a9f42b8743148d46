"""The end of this process when the process that launched it has gone, however it went.

Stdin is a pipe whose other end the launcher holds: at its end a thread kills this process. While
the interpreter shuts down, threads of its own execute no more, and libraries may take seconds to
unload; on Linux the kernel kills this process itself then.
"""

import os
import signal
import sys
import threading
from contextlib import suppress

_PR_SET_PDEATHSIG = 1


def die_at_end_of_stdin() -> None:
    """Start a thread that kills this process as soon as its stdin is closed."""
    threading.Thread(target=_wait_for_end_of_stdin, daemon=True).start()


def die_with_parent() -> None:
    """From now on this process ends when its stdin is closed, or its parent is gone.

    The kernel's parent is the thread that launched this process, so that one must not end before.
    """
    parent = os.getppid()
    die_at_end_of_stdin()
    if sys.platform == "linux":
        _ask_kernel()
        if os.getppid() != parent:  # it went before the kernel knew
            _die()


def _ask_kernel() -> None:
    import ctypes

    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _wait_for_end_of_stdin() -> None:
    # Not sys.stdin.read: Python aborts at its end if a thread still holds the lock of sys.stdin.
    while os.read(sys.stdin.fileno(), 4096):
        _ask_kernel()
    _die()


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)
