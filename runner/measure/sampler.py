"""Readings taken at short intervals by a thread, beside something that is not timed."""

import threading
from collections.abc import Callable

INTERVAL_S = 0.001


class Sampler:
    """Reads from entering to leaving a `with` block, the first time at once.

    Beside torch on the cpu this slows what runs (`python -m performance monitors`), so it has no
    place beside timed iterations.
    """

    def __init__(self, read: Callable[[], int], interval_s: float = INTERVAL_S) -> None:
        self.samples: list[int] = []
        """The readings, in order."""
        self._read = read
        self._interval_s = interval_s
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Sampler":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._stopped.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self.samples.append(self._read())
            if self._stopped.wait(self._interval_s):
                return
