"""A thread for work that cannot always be ended, and a list of the work that was given up."""

import threading
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, Generic, TypeVar

_T = TypeVar("_T")


class ThreadedWork(Generic[_T]):
    """Work under way, for one other thread to wait for.

    Ctrl-C may end the wait anywhere. A `Future` would not do: its lock is made in Python, and an
    interruption in the middle leaves it taken, or has it released twice.
    """

    def __init__(self, do: Callable[[], _T]) -> None:
        self._do = do
        self._end: SimpleQueue[None] = SimpleQueue()
        self._results: list[_T] = []
        self._error: BaseException | None = None
        self.is_done = False

    def run(self) -> None:
        """Do the work, in this thread."""
        try:
            self._results.append(self._do())
        except BaseException as error:
            self._error = error
        self.is_done = True
        self._end.put(None)

    def wait(self, limit_s: float | None = None) -> bool:
        """Wait for its end, or no longer than this; True if it has ended."""
        if not self.is_done:
            with suppress(Empty):
                self._end.get(timeout=limit_s)
        return self.is_done

    def result(self, limit_s: float | None = None) -> _T:
        """Its result, once it has ended.

        Raises:
            TimeoutError: it has not ended within so many seconds.
            BaseException: what the work raised.
        """
        if not self.wait(limit_s):
            raise TimeoutError
        try:
            if self._error is not None:
                raise self._error
            return self._results[0]
        finally:
            del self  # else the error's traceback would keep the error, and what it refers to


class WorkThread:
    """Does one piece of work after another; it keeps no process from ending.

    A `ThreadPoolExecutor` would not do: Python waits at its end for the threads of every pool.
    """

    _abandoned: ClassVar["set[WorkThread]"] = set()

    def __init__(self) -> None:
        self._tasks: SimpleQueue[ThreadedWork[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, do: Callable[[], _T]) -> ThreadedWork[_T]:
        """Do this once all earlier work has ended."""
        work = ThreadedWork(do)
        self._tasks.put(work)
        return work

    def join(self) -> None:
        """Wait until all work has ended, and end the thread."""
        self._tasks.put(None)
        self._thread.join()

    def abandon(self) -> None:
        """Leave the thread to its work, and let it end after that."""
        self._abandoned.add(self)
        self._tasks.put(None)

    @classmethod
    def has_abandoned(cls) -> bool:
        """True if some work that was given up goes on: Python cannot end the process in order."""
        return any(thread._thread.is_alive() for thread in cls._abandoned)

    def _run(self) -> None:
        while (work := self._tasks.get()) is not None:
            work.run()
        self._abandoned.discard(self)
