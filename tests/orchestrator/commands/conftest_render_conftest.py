"""The screen on which a renderer prints."""

import json
from collections.abc import Callable
from typing import Any

import pytest


class Screen:
    """Prints for people or for programs, and reads what was printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def lines(self, show: Callable[..., None], *values: Any) -> list[str]:
        """The lines that people get, without the blanks at their ends."""
        show(*values, as_json=False)
        return self.printed()

    def words(self, show: Callable[..., None], *values: Any) -> list[list[str]]:
        """The words of each line that people get."""
        return [line.split() for line in self.lines(show, *values)]

    def data(self, show: Callable[..., None], *values: Any) -> Any:
        """The JSON that programs get."""
        show(*values, as_json=True)
        return json.loads(self._capsys.readouterr().out)

    def printed(self) -> list[str]:
        """The lines that were printed since the last look."""
        return [line.rstrip() for line in self._capsys.readouterr().out.splitlines()]


@pytest.fixture
def screen(capsys: pytest.CaptureFixture[str]) -> Screen:
    return Screen(capsys)
