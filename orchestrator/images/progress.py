"""The engine's account of a build, pull or push, and the failures that hide in it."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from docker.errors import APIError

from orchestrator.engine import engine_errors, explain
from orchestrator.errors import ImageError

STEP = "Step "
"""How the engine begins the line that announces an instruction of a Dockerfile."""

Report = Callable[[str], None]
"""Takes one line about the work under way."""


def ignore(line: str) -> None:
    """A report that nobody reads."""
    del line


def follow(events: Iterable[Mapping[str, Any]], report: Report) -> None:
    """Report every event worth a line, until the last.

    Raises:
        ImageError: the engine says that the work failed, in a build with the step that did.
    """
    step = ""
    for event in events:
        if "error" in event:
            raise ImageError(f"{step}{str(event['error']).strip()}")
        for line in _lines(event):
            step = f"{line}: " if line.startswith(STEP) else step
            report(line)


def _lines(event: Mapping[str, Any]) -> list[str]:
    if event.get("progressDetail"):
        return []
    text = event.get("stream") or event.get("status") or ""
    prefix = f"{event['id']}: " if "id" in event else ""
    return [prefix + line for line in text.splitlines() if line.strip()]


@contextmanager
def image_errors(attempt: str, hint: str) -> Iterator[None]:
    """Say what was attempted when the engine, answering, could not do it.

    Raises:
        ImageError: the work failed.
        EngineUnavailable: the engine went away.
    """
    with engine_errors(attempt):
        try:
            yield
        except (APIError, ImageError) as error:
            raise ImageError(f"{attempt}: {explain(error)}", hint=hint) from error
