"""Text broken to a terminal's width: at blanks, ids and paths after hyphens and slashes."""

import os
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TextIO

_DEFAULT_WIDTH = 80
_LEAST_WIDTH = 20
"""A terminal that says it were narrower is not believed."""
_INDENT = "  "
_CONTINUED = " \\"
"""The end of a line that a shell reads on after."""
_WORD = re.compile(r"(?:[^\s`]|`[^`]*`|`|(?<=\d) (?=%))+")
"""Characters up to a blank; a command in backticks is one word, and a number with its `%`."""
_ARGUMENT = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*'|["'])+""")
"""An argument of a command with its quotes."""
_PART = re.compile(r"[^-/,:]*[-/,:]+|[^-/,:]+")
"""Parts of ids, paths and lists, each with the sign after which a line may break."""
_SINGLE = re.compile("[ -~\u00a0-\u02ff–—…→≤≥“”]*")
"""Text whose characters are one column wide, as nearly all that is printed."""


class _Piece(NamedTuple):
    """Text that stays together."""

    text: str
    glue: str = " "
    """The text between it and the piece before, on the same line."""
    ending: str = ""
    """The end of the line before, where this piece begins a new one."""


def terminal_width(stream: TextIO) -> int | None:
    """Columns of the terminal that the stream leads to; None where it leads elsewhere."""
    if not stream.isatty():
        return None
    named = os.environ.get("COLUMNS", "")
    width = int(named) if named.isdecimal() else 0
    if not width:
        try:
            width = os.get_terminal_size(stream.fileno()).columns
        except (OSError, ValueError):
            width = 0
    return max(width or _DEFAULT_WIDTH, _LEAST_WIDTH)


def cell_width(text: str) -> int:
    """Columns that the text takes on a terminal."""
    if _SINGLE.fullmatch(text):
        return len(text)
    from rich.cells import cell_len

    return cell_len(text)


def wrap(text: str, width: int, indent: str = _INDENT) -> list[str]:
    """The text's lines, none wider than this, continued with an indent below their own.

    Lines break at blanks. A word that is wider than a line alone breaks after hyphens, slashes,
    colons and commas; a command in backticks stays on one line or is continued as a shell reads it.
    """
    lines: list[str] = []
    for line in text.expandtabs().split("\n"):
        if cell_width(line) <= width:
            lines.append(line)
            continue
        margin = line[: len(line) - len(line.lstrip())]
        rest = margin + indent
        room = width - cell_width(rest)
        lines += _fill(_pieces(line, room), width, margin, rest)
    return lines


def wrap_command(command: str, width: int, indent: str = _INDENT) -> list[str]:
    """The command's lines, indented, each but the last with a shell's sign that it goes on."""
    if cell_width(indent + command) <= width:
        return [indent + command]
    rest = indent + _INDENT
    room = width - len(_CONTINUED)
    return _fill(_arguments(command, room - len(rest)), room, indent, rest)


def longest_part(text: str) -> int:
    """Columns of the widest part of the text that `wrap` does not break."""
    return max((cell_width(part) for word in text.split() for part in _parts(word)), default=0)


def _pieces(line: str, room: int) -> Iterator[_Piece]:
    for word in _WORD.findall(line):
        if cell_width(word) <= room:
            yield _Piece(word)
        elif "`" in word:
            yield from _arguments(word, room - len(_CONTINUED))
        else:
            first, *others = _parts(word)
            yield _Piece(first)
            yield from (_Piece(part, glue="") for part in others)


def _parts(word: str) -> list[str]:
    return _PART.findall(word)


def _arguments(command: str, room: int) -> Iterator[_Piece]:
    for argument in _ARGUMENT.findall(command):
        if cell_width(argument) <= room:
            yield _Piece(argument, ending=_CONTINUED)
            continue
        # Between quotes, a line that ends is a blank to SQL, and a sign would be part of it.
        first, *others = argument.split() or [argument]
        yield _Piece(first, ending=_CONTINUED)
        yield from map(_Piece, others)


def _fill(pieces: Iterable[_Piece], width: int, first: str, rest: str) -> list[str]:
    lines: list[str] = []
    line, taken, is_empty = first, cell_width(first), True
    for piece in pieces:
        columns = cell_width(piece.text)
        if not is_empty and taken + len(piece.glue) + columns > width:
            lines.append(line + piece.ending)
            line, taken, is_empty = rest, cell_width(rest), True
        glue = "" if is_empty else piece.glue
        line += glue + piece.text
        taken += len(glue) + columns
        is_empty = False
    return [*lines, line]
