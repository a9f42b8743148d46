"""The end of conversations: never awaited by the driver for long, and at once if asked twice."""

import signal
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Protocol

FAREWELL_S = 10.0
"""Seconds that hosts have to clean up once they were told to end."""
_END_S = 6.0
"""Seconds for programs that do not heed their end to be killed."""


class Endable(Protocol):
    """A conversation, or what has one."""

    def end(self) -> None:
        """End it; may take a while."""
        ...


def end_later(conversation: Endable) -> Thread:
    """End a conversation beside other work."""
    thread = Thread(target=conversation.end, daemon=True)
    thread.start()
    return thread


def end_all(conversations: Iterable[Endable]) -> None:
    """End conversations side by side, and wait for the slowest, but not for ever."""
    for thread in [*map(end_later, conversations)]:
        thread.join(_END_S)


@contextmanager
def prompt_interrupts() -> Iterator[None]:
    """Let one more Ctrl-C end this at once, where our program would ask for patience first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before not in (signal.SIG_IGN, None):
        signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
