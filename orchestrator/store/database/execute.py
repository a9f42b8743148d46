"""Work of a connection that Ctrl-C and a limit of time can end."""

import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, Self, TypeVar

from duckdb import DuckDBPyConnection

from orchestrator.system.threads import WorkThread

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

    def wait_for(self, work: Callable[[], _T]) -> _T:
        """Do the work and return its result; Ctrl-C interrupts it and waits for its end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; what the work had not committed is undone.
        """
        future = self._thread.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            self._interrupted = True
            interrupt(self._connection, future)
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
        self._last: Future[Any] | None = None

    def wait_for(self, work: Callable[[], _T]) -> _T:
        """Do the work and return its result; the time that it takes is taken from the limit.

        Raises:
            TimeoutError: the limit is reached.
            KeyboardInterrupt: Ctrl-C was pressed.
        """
        self._last = future = self._thread.submit(work)
        started = time.monotonic()
        try:
            wait([future], self._left_s)
        except KeyboardInterrupt:
            interrupt(self._connection, future, self._patience_s)
            raise
        if not future.done():
            interrupt(self._connection, future, self._patience_s)
            raise TimeoutError
        if self._left_s is not None:
            self._left_s = max(0.0, self._left_s - (time.monotonic() - started))
        return future.result()

    def close(self, release: Callable[[], None]) -> None:
        """Release the connection and end the thread, or leave both to work that cannot be ended."""
        future = self._thread.submit(release)
        if self._last is None or self._last.done():
            self._thread.join()
            future.result()
        else:
            self._thread.abandon()


def interrupt(
    connection: DuckDBPyConnection, future: Future[_T], patience_s: float | None = None
) -> None:
    """End this work of the connection; wait for its end, or no longer than this."""
    deadline = None if patience_s is None else time.monotonic() + patience_s
    while not future.done() and (deadline is None or time.monotonic() < deadline):
        connection.interrupt()
        wait([future], _INTERRUPT_EVERY_S)
