"""Draw the terminal after a command as an SVG: `python -m tools.docs.picture FILE COMMAND...`.

The command runs in a pseudo-terminal, so it shows what a user sees: live lines, colours, tables.
"""

import io
import os
import shlex
import struct
import sys
from contextlib import suppress
from fcntl import ioctl
from itertools import groupby
from pathlib import Path
from subprocess import Popen
from termios import TIOCSWINSZ

import pyte
from rich.console import Console
from rich.style import Style
from rich.text import Text

from orchestrator.screen.wrapping import wrap_command

COLUMNS, LINES = 80, 70


def screen_after(command: list[str]) -> tuple[pyte.Screen, int]:
    """The terminal's screen when the command has ended, and its exit code.

    The program is on the command's path, as in an environment that is active.
    """
    folders = [os.path.dirname(command[0]), os.environ.get("PATH", os.defpath)]  # noqa: PTH120
    environment = {**os.environ, "PATH": os.pathsep.join(filter(None, folders))}
    screen = pyte.Screen(COLUMNS, LINES)
    stream = pyte.ByteStream(screen)
    ours, terminal = os.openpty()
    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    # `pty.fork` would execute Python in a copy of this process, which may have threads.
    with os.fdopen(terminal, "rb", buffering=0) as theirs:
        child = Popen(command, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    with os.fdopen(ours, "rb", buffering=0) as output:
        with suppress(OSError):  # EIO at its end
            while chunk := output.read(4096):
                stream.feed(chunk)
        code = child.wait()  # before the terminal is closed, which would hang it up
    return screen, code


def drawn(screen: pyte.Screen, title: str) -> str:
    """The screen's lines, without the empty ones at its end, as an SVG."""
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    for text in prompt_lines(title):
        console.print(Text(text, style="bold"))
    for line in _lines(screen):
        console.print(line, no_wrap=True, crop=True)
    return console.export_svg(title="AccelMatrix", unique_id="terminal")


def prompt_lines(command: str) -> list[str]:
    """The command behind a shell's prompt, on as many lines as it takes."""
    first, *others = wrap_command(command, COLUMNS)
    return [f"$ {first.lstrip()}", *others]


def plain_lines(screen: pyte.Screen) -> list[str]:
    """The screen's lines as text, without the empty ones at its end."""
    return [line.plain for line in _lines(screen)]


def _lines(screen: pyte.Screen) -> list[Text]:
    lines = [_line(screen, number) for number in range(LINES)]
    while lines and not lines[-1].plain.strip():
        lines.pop()
    return lines


def _line(screen: pyte.Screen, number: int) -> Text:
    line = Text()
    cells = (screen.buffer[number][column] for column in range(COLUMNS))
    for (colour, bold), run in groupby(cells, key=lambda cell: (cell.fg, cell.bold)):
        line.append("".join(cell.data for cell in run), Style(color=_colour(colour), bold=bold))
    line.rstrip()
    return line


def _colour(name: str) -> str | None:
    """The colour in rich's words; None for the terminal's own."""
    if name == "default":
        return None
    if name.isalpha():
        return name.replace("brown", "yellow").replace("bright", "bright_")
    return f"#{name}"


def main() -> int:
    """Draw, and end as the command ended."""
    path, *command = sys.argv[1:]
    screen, code = screen_after(command)
    title = shlex.join([Path(command[0]).name, *command[1:]])
    Path(path).write_text(drawn(screen, title), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
