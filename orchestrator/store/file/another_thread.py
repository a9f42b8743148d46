"""DuckDB works in another thread, since it leaves the one it works in deaf to Ctrl-C."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Self, TypeVar

from duckdb import DuckDBPyConnection

AGAIN_S = 0.05
"""An interruption ends one statement; so often it is repeated, for those that follow."""
_T = TypeVar("_T")


class AnotherThread:
    """A thread for the work of one connection; leave its context once nothing is left to do."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self._pool = ThreadPoolExecutor(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._pool.shutdown()

    def wait_for(self, work: Callable[[], _T]) -> _T:
        """What the work returns or raises; Ctrl-C interrupts its statements and waits for its end.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed; what the work had not committed is undone.
        """
        future = self._pool.submit(work)
        try:
            return future.result()
        except KeyboardInterrupt:
            self._interrupt(future)
            raise

    def _interrupt(self, future: Future[_T]) -> None:
        while not future.done():
            self._connection.interrupt()
            wait([future], AGAIN_S)
