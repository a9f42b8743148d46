"""What an exporter's error says, in one line."""

import re
from collections.abc import Iterator

LONGEST = 300
"""Characters of one message; exporters append programs of thousands of lines."""
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def in_one_line(error: BaseException) -> str:
    """The error and, where another one led to it, that one: type and first line of each."""
    said = dict.fromkeys(_told(found) for found in (error, *_causes(error)))
    return ", caused by ".join(said)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The first of the errors that led to this one."""
    cause = error
    while cause.__cause__ is not None:
        cause = cause.__cause__
    if cause is not error:
        yield cause


def _told(error: BaseException) -> str:
    lines = [line.strip() for line in _COLOURS.sub("", str(error)).splitlines() if line.strip()]
    kind = type(error).__name__
    return f"{kind}: {lines[0]}"[:LONGEST] if lines else kind
