"""Steps of getting an image in one line each.

`building cpu: step 3/18, pip install …, 12 s`, or `pulling cpu: 210 MB of 640 MB, 12 s`.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from textwrap import shorten
from typing import Any

from orchestrator.system.text import format_duration, format_size

_STEP = re.compile(r"Step (\d+/\d+) : (.*)", re.DOTALL)
"""The engine's line for an instruction of a Dockerfile."""
_NOISE = re.compile(r"^RUN\s+|--mount=\S+\s+")
_LETTERS = 32
"""Most letters of an instruction, so that the line fits 80 columns."""
_PULL_INTERVAL_S = 5
"""Seconds between two lines of a pull."""
_FETCHED = ("Download complete", "Pull complete")


class _Steps:
    """The steps of getting one image."""

    def __init__(
        self, image: str, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._image = image
        self._report = report
        self._clock = clock
        self._began = self._reported = clock()


class BuildSteps(_Steps):
    """Takes the lines of a build, and reports those of its steps with the time gone by."""

    def __call__(self, line: str) -> None:
        """Report a step; other lines are in the build's log alone."""
        if step := _STEP.match(line):
            instruction = _NOISE.sub("", step[2])
            self._report(
                f"building {self._image}: step {step[1]}, "
                f"{shorten(instruction, _LETTERS, placeholder=' …')}, "
                f"{format_duration(round(self._clock() - self._began))}"
            )


class PullSteps(_Steps):
    """Takes the events of a pull, and reports now and then how much has come."""

    def __init__(
        self, image: str, report: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(image, report, clock)
        self._fetched: dict[str, int] = {}
        self._sizes: dict[str, int] = {}

    def watch(self, events: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
        for event in events:
            self._count(event)
            if self._sizes and self._clock() - self._reported >= _PULL_INTERVAL_S:
                self._tell()
            yield event

    def _count(self, event: Mapping[str, Any]) -> None:
        layer, status = event.get("id", ""), event.get("status")
        detail = event.get("progressDetail") or {}
        if status == "Downloading" and "total" in detail:
            self._fetched[layer], self._sizes[layer] = detail["current"], detail["total"]
        elif status in _FETCHED and layer in self._sizes:
            self._fetched[layer] = self._sizes[layer]

    def _tell(self) -> None:
        self._reported = self._clock()
        fetched, size = sum(self._fetched.values()), sum(self._sizes.values())
        seconds = round(self._reported - self._began)
        self._report(
            f"pulling {self._image}: {format_size(fetched)} of {format_size(size)}, "
            f"{format_duration(seconds)}"
        )


def fitted_step(line: str, room: int) -> str:
    """The line, or its beginning and its end where there is too little room for its middle."""
    parts = line.split(", ")
    return line if len(line) <= room else f"{parts[0]}, {parts[-1]}"
