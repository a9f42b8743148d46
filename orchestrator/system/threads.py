"""A thread for work that cannot always be ended, and a list of the work that was given up."""

import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TYPE_CHECKING, ClassVar, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

_T = TypeVar("_T")
_Task = Callable[[], None]


class WorkThread:
    """Does one piece of work after another; it keeps no process from ending.

    A `ThreadPoolExecutor` would not do: Python waits at its end for the threads of every pool.
    """

    _abandoned: ClassVar["set[WorkThread]"] = set()

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def submit(self, work: Callable[[], _T]) -> "Future[_T]":
        """Do this work once all earlier work has ended."""
        from concurrent.futures import Future

        future: Future[_T] = Future()

        def task() -> None:
            try:
                future.set_result(work())
            except BaseException as error:
                future.set_exception(error)

        self._tasks.put(task)
        return future

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
        while (task := self._tasks.get()) is not None:
            task()
        self._abandoned.discard(self)
