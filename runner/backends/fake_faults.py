"""What can go wrong on command, for tests of what must survive it."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path

CHUNK_BYTES = 16 << 20


def _hang() -> None:
    while True:
        time.sleep(1)


def _fill_memory() -> None:
    held = []
    while True:
        held.append(bytearray(os.urandom(1)) * CHUNK_BYTES)


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _raise() -> None:
    raise RuntimeError("a scripted failure")


def _raise_memory_error() -> None:
    raise MemoryError("a scripted shortage")


def _exit() -> None:
    os._exit(3)


def _print() -> None:
    print("a stray line on stdout", flush=True)  # noqa: T201 - libraries do print


def _write_outside() -> None:
    Path("/written-by-the-runner").write_text("")


FAULTS: Mapping[str, Callable[[], None]] = {
    "hang": _hang,
    "fill_memory": _fill_memory,
    "die": _die,
    "raise": _raise,
    "memory_error": _raise_memory_error,
    "exit": _exit,
    "print": _print,
    "write_outside": _write_outside,
}
