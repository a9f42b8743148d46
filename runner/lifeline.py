"""Ends this process when the one that started it has gone, however that came about."""

import os
import signal
import sys
import threading


def die_with_parent() -> None:
    """From now on, end this process as soon as its stdin is closed."""
    threading.Thread(target=_die_at_end_of_stdin, daemon=True).start()


def _die_at_end_of_stdin() -> None:
    # Not through sys.stdin, whose lock this thread would hold while Python ends: that aborts.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGKILL)
