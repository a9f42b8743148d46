"""Ctrl-C and its kin: the first one ends the work in hand, the second one is told to wait."""

import os
import signal
import sys
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = b"cleaning up; once more to give up\n"


class Interruptions:
    """Turns signals into KeyboardInterrupt, but lets the clean-up that follows finish."""

    def __init__(self) -> None:
        self._count = 0

    def install(self) -> None:
        """Take over the signals, save those that somebody, `nohup` for one, has us ignore."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._count += 1
        if self._count == 2:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, PATIENCE)
        else:
            raise KeyboardInterrupt
