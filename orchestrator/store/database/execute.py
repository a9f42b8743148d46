"""Work of a connection that Ctrl-C and a limit of time can end."""

import time
from collections.abc import Callable
from typing import Any, Self, TypeVar

from duckdb import DuckDBPyConnection

from orchestrator.system.threads import ThreadedWork, WorkThread

_INTERRUPT_EVERY_S = 0.05
"""An interruption ends one statement, so it is repeated for those that follow."""
INTERRUPT_PATIENCE_S = 2.0
"""Time for DuckDB to hear an interruption before a question is given up."""
_T = TypeVar("_T")


class InterruptibleThread:
    """A thread for the work of one connection; leave its context once nothing is left to do."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._thread = WorkThread()
        self._interrupted = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._thread.join()

    def wait_for(self, do: Callable[[], _T]) -> _T:
        """Do the work and return its result; Ctrl-C interrupts it and waits for its end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; what the work had not committed is undone.
        """
        work = self._thread.submit(do)
        try:
            return work.result()
        except KeyboardInterrupt:
            self._interrupted = True
            interrupt(self._connection, work)
            raise

    def check_interrupt(self) -> None:
        """Let work that DuckDB does not do end as well; the work itself calls this.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        if self._interrupted:
            raise KeyboardInterrupt


class QuestionThread:
    """A thread that answers one question within a limit of time, and owns its connection.

    Some functions of DuckDB hear no interruption, `levenshtein` for one. A question changes
    nothing, so it is given up then: the thread closes the connection as soon as it can.
    """

    def __init__(
        self,
        connection: DuckDBPyConnection,
        timeout_s: float | None,
        *,
        patience_s: float = INTERRUPT_PATIENCE_S,
    ) -> None:
        self._connection = connection
        self._left_s = timeout_s
        self._patience_s = patience_s
        self._thread = WorkThread()
        self._last: ThreadedWork[Any] | None = None

    def wait_for(self, do: Callable[[], _T]) -> _T:
        """Do the work and return its result; the time that it takes is taken from the limit.

        Raises:
            TimeoutError: the limit is reached.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        self._last = work = self._thread.submit(do)
        started = time.monotonic()
        try:
            is_done = work.wait(self._left_s)
        except KeyboardInterrupt:
            interrupt(self._connection, work, self._patience_s)
            raise
        if not is_done:
            interrupt(self._connection, work, self._patience_s)
            raise TimeoutError
        if self._left_s is not None:
            self._left_s = max(0.0, self._left_s - (time.monotonic() - started))
        return work.result()

    def close(self, release: Callable[[], None]) -> None:
        """Release the connection and end the thread, or leave both to work that cannot be ended."""
        work = self._thread.submit(release)
        if self._last is None or self._last.is_done:
            self._thread.join()
            work.result()
        else:
            self._thread.abandon()


def interrupt(
    connection: DuckDBPyConnection, work: ThreadedWork[_T], patience_s: float | None = None
) -> None:
    """End this work of the connection; wait for its end, or no longer than this."""
    deadline = None if patience_s is None else time.monotonic() + patience_s
    while not work.is_done and (deadline is None or time.monotonic() < deadline):
        connection.interrupt()
        work.wait(_INTERRUPT_EVERY_S)
