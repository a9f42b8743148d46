"""A thread for questions and merges: Ctrl-C and a limit of time end its work."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any, ClassVar, Generic, Self, TypeVar

_INTERRUPT_EVERY_S = 0.05
"""An interruption ends one statement, so it is repeated for those that follow."""
_T = TypeVar("_T")


class _Work(Generic[_T]):
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
        try:
            self._results.append(self._do())
        except BaseException as error:
            self._error = error
        self.is_done = True
        self._end.put(None)

    def wait(self, limit_s: float | None = None) -> bool:
        if not self.is_done:
            with suppress(Empty):
                self._end.get(timeout=limit_s)
        return self.is_done

    def result(self) -> _T:
        try:
            if self._error is not None:
                raise self._error
            return self._results[0]
        finally:
            del self  # else the error's traceback would keep the error, and what it refers to


class InterruptibleThread:
    """A thread that does one piece of work after another, and keeps no process from ending.

    Some functions of DuckDB hear no interruption, `levenshtein` for one. Whoever reads can give up
    such work, since it changes nothing: what it holds is released as soon as it ends.
    """

    _given_up: ClassVar["set[InterruptibleThread]"] = set()

    def __init__(
        self,
        interrupt: Callable[[], object],
        timeout_s: float | None = None,
        *,
        patience_s: float | None = None,
    ) -> None:
        """`interrupt` ends a statement that the work executes; all of it may take `timeout_s`.

        Work that goes on `patience_s` after an interruption is given up; never if that is None.
        """
        self._interrupt = interrupt
        self._left_s = timeout_s
        self._patience_s = patience_s
        self._interrupted = False
        self._last: _Work[Any] | None = None
        self._tasks: SimpleQueue[_Work[Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close(lambda: None)

    def wait_for(self, do: Callable[[], _T]) -> _T:
        """Do the work and return its result, or raise TimeoutError or KeyboardInterrupt."""
        work = _Work(do)
        self._tasks.put(work)
        self._last = work
        started = time.monotonic()
        try:
            is_done = work.wait(self._left_s)
        except KeyboardInterrupt:
            self._interrupted = True
            self._end(work)
            raise
        if not is_done:
            self._end(work)
            raise TimeoutError
        if self._left_s is not None:
            self._left_s = max(0.0, self._left_s - (time.monotonic() - started))
        return work.result()

    def check_interrupt(self) -> None:
        """Let work between two statements end as well; the work itself calls this."""
        if self._interrupted:
            raise KeyboardInterrupt

    def close(self, release: Callable[[], None]) -> None:
        """Release what the work used and end the thread, or leave both to work that goes on."""
        last = _Work(release)
        if is_given_up := self._last is not None and not self._last.is_done:
            self._given_up.add(self)
        self._tasks.put(last)
        self._tasks.put(None)
        if not is_given_up:
            self._thread.join()
            last.result()

    @classmethod
    def has_given_up(cls) -> bool:
        """True if some work that was given up goes on: Python cannot end the process in order."""
        return any(thread._thread.is_alive() for thread in cls._given_up)

    def _end(self, work: _Work[Any]) -> None:
        """End the work; wait for its end, or no longer than the patience lasts."""
        patience_s = float("inf") if self._patience_s is None else self._patience_s
        deadline = time.monotonic() + patience_s
        while not work.is_done and time.monotonic() < deadline:
            self._interrupt()
            work.wait(_INTERRUPT_EVERY_S)

    def _run(self) -> None:
        while (work := self._tasks.get()) is not None:
            work.run()
        self._given_up.discard(self)
