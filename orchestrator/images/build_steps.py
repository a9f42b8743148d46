"""Steps of an image build as one line each: `building cpu: step 3/18, pip install …, 12 s`."""

import re
import time
from collections.abc import Callable
from textwrap import shorten

from orchestrator.system.text import format_duration

BUILDING = "building "
"""The beginning of the line of a step."""
_STEP = re.compile(r"Step (\d+/\d+) : (.*)", re.DOTALL)
"""The engine's line for an instruction of a Dockerfile."""
_NOISE = re.compile(r"^RUN\s+|--mount=\S+\s+")
_LETTERS = 32
"""Most letters of an instruction, so that the line fits 80 columns."""


class BuildSteps:
    """Takes the lines of a build, and reports those of its steps with the time gone by."""

    def __init__(
        self,
        image: str,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._image = image
        self._report = report
        self._clock = clock
        self._began = clock()

    def __call__(self, line: str) -> None:
        """Report a step; other lines are in the build's log alone."""
        if step := _STEP.match(line):
            instruction = _NOISE.sub("", step[2])
            self._report(
                f"{BUILDING}{self._image}: step {step[1]}, "
                f"{shorten(instruction, _LETTERS, placeholder=' …')}, "
                f"{format_duration(round(self._clock() - self._began))}"
            )


def fitted_step(line: str, room: int) -> str:
    """The line, or its beginning and its end where there is too little room for its middle."""
    parts = line.split(", ")
    return line if len(line) <= room else f"{parts[0]}, {parts[-1]}"
