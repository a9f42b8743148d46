"""A terminal of a given width: how a program sees it, and what it shows."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyte
import pytest
from rich.cells import cell_len

WIDTHS = (80, 100, 120, 200)
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_PART = re.compile(r"[^-/,:]*[-/,:]*")
_FRAME = re.compile(r"row [\d,]+ of [\d,]+$|\d+ columns? left out.*", re.DOTALL)
"""Lines that a table has for a terminal alone."""

_SIGNS = {"\\", "(--wide)"}
"""Words that only a terminal is shown: a command that goes on, and the option for the rest."""


@contextmanager
def a_terminal(width: int, *streams: Any) -> Iterator[None]:
    """Let these streams say that they lead to a terminal that is so wide."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(width))
        patch.setenv("TERM", "xterm-256color")
        patch.delenv("NO_COLOR", raising=False)
        for stream in streams or (sys.stdout, sys.stderr):
            patch.setattr(stream, "isatty", lambda: True, raising=False)
        yield


def shown(text: str, width: int) -> list[str]:
    """The lines on a screen of that width, after all that the text does to it."""
    screen = pyte.Screen(width, max(text.count("\n") + len(text) // width + 2, 10))
    screen.set_mode(pyte.modes.LNM)
    pyte.Stream(screen).feed(text)
    return [line.rstrip() for line in screen.display[: screen.cursor.y + 1]]


def require_fit(text: str, width: int, whole: str) -> None:
    """Assert that a terminal of that width shows every line and every word of the text unbroken.

    What it says in a pipe, or on other streams, is the `whole` that its words are compared with.
    """
    lines = require_unbroken(text, width, whole)
    assert shown(text, width) == lines


def require_unbroken(text: str, width: int, whole: str) -> list[str]:
    """The same without a terminal, for texts that only set styles: their lines."""
    lines = [line.rstrip() for line in _STYLE.sub("", text).split("\n")]
    wide = [line for line in lines if cell_len(line) > width]
    assert not wide, f"wider than {width}: {wide}"
    words = set(whole.split())
    pieces = {piece for word in words for piece in _pieces(word)}
    printed = {word for line in lines if not _FRAME.match(line) for word in line.split()}
    broken = printed - words - pieces - _SIGNS
    assert not broken, f"broken or changed: {sorted(broken)}"
    return lines


def _pieces(word: str) -> Iterator[str]:
    """All that may stand on one line where a long word breaks after its signs."""
    parts = [part for part in _PART.findall(word) if part]
    if len(parts) > 1:
        for start in range(len(parts)):
            for end in range(start + 1, len(parts) + 1):
                yield "".join(parts[start:end])
