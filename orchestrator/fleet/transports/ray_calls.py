"""Calls of Ray's library under way in threads, which all return before a driver leaves its cluster.

The library ends the whole process by a segmentation fault if it is shut down amid one.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Any

_STEP_S = 1.0
"""The longest wait of one call, so that a driver can leave soon."""


class LeftCluster(Exception):
    """The driver leaves the cluster, or has left it."""


class RayCalls:
    """A driver's calls of Ray, until it leaves the cluster."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._under_way = 0
        self._has_left = False

    @contextmanager
    def one(self) -> Iterator[None]:
        """Call Ray inside; it must not wait for more than some seconds.

        Raises:
            LeftCluster: there is no cluster to call any more.
        """
        with self._changed:
            if self._has_left:
                raise LeftCluster
            self._under_way += 1
        try:
            yield
        finally:
            with self._changed:
                self._under_way -= 1
                self._changed.notify_all()

    def is_ready(self, answer: Any, limit_s: float, give_up: Callable[[], bool]) -> bool:
        """True if Ray has the answer within so many seconds.

        Args:
            answer: a reference to an object, or a generator of them.
            limit_s: the seconds.
            give_up: True if nobody needs it any more.

        Raises:
            LeftCluster: the driver has left meanwhile.
        """
        import ray

        end_s = time.monotonic() + limit_s
        while not give_up():
            with self.one():
                if ray.wait([answer], timeout=min(_STEP_S, limit_s))[0]:
                    return True
            if time.monotonic() > end_s:
                return False
        return False

    def leave(self, limit_s: float) -> bool:
        """Begin no more calls; True if those under way return within so many seconds."""
        with self._changed:
            self._has_left = True
            return self._changed.wait_for(lambda: not self._under_way, limit_s)
