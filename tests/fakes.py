"""Honest stand-ins at the seams: a clock that obeys, progress that is kept."""

import io
import json
from typing import Any

from runner.progress import Progress


class FakeClock:
    """Nanoseconds that pass only when somebody says so, and one per reading."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1
        return self.now

    def pass_by(self, nanoseconds: int) -> None:
        """Let time go by."""
        self.now += nanoseconds


class KeptProgress(Progress):
    """Progress whose events can be read back."""

    def __init__(self) -> None:
        self._kept = io.StringIO()
        super().__init__(self._kept)

    @property
    def events(self) -> list[dict[str, Any]]:
        """What was reported, in order."""
        return [json.loads(line) for line in self._kept.getvalue().splitlines()]
