"""Lines of text: results on stdout, notes on stderr. Light enough for every command to import.

Prose is wrapped to the terminal's width; data and what goes elsewhere stay as they are.
"""

import json
import shlex
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import TextIO

from orchestrator.screen.wrapping import terminal_width, wrap, wrap_command
from orchestrator.system.files import output_file
from orchestrator.system.text import escape_control


def print_line(text: str = "") -> None:
    """Print one line of prose on stdout, whatever would steer the terminal escaped."""
    sys.stdout.write(f"{_wrapped(text, sys.stdout)}\n")


def print_command(command: str) -> None:
    """Print a command on stdout, indented; a longer one is continued so that it can be pasted."""
    width = terminal_width(sys.stdout)
    text = escape_control(command)
    lines = [f"  {text}"] if width is None else wrap_command(text, width)
    sys.stdout.write("".join(f"{line}\n" for line in lines))


def print_data(text: str, style: tuple[str, str] = ("", "")) -> None:
    """Print data on stdout, escaped likewise but never wrapped, between two signs of style."""
    before, after = style
    sys.stdout.write(f"{before}{escape_control(text)}{after}\n")


def print_content(content: bytes) -> None:
    """Print a file's content on stdout: as it is, on a terminal with control characters escaped."""
    sys.stdout.flush()
    screen = escape_control(content.decode()).encode() if sys.stdout.isatty() else content
    sys.stdout.buffer.write(screen)
    sys.stdout.buffer.flush()


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print a frozen value as JSON: pydantic models, dataclasses, paths and plain data."""
    print_data(_as_json(value, indent))


def save_json(value: object, path: Path) -> None:
    """Write a frozen value into a file as `print_json` shows it, whole or not at all.

    Raises:
        StoreError: the file cannot be written.
    """
    with output_file(path) as file:
        file.write(f"{_as_json(value)}\n".encode())


def _as_json(value: object, indent: int | None = 2) -> str:
    from pydantic_core import to_jsonable_python

    return json.dumps(value, indent=indent, default=to_jsonable_python)


def stream_json(lists: Mapping[str, Iterable[object]]) -> None:
    """Print a JSON object of lists of flat items as `print_json` does, one item at a time."""
    from pydantic_core import to_jsonable_python

    # Without `indent`, the encoder is the fast one in C.
    between = (",\n      ", ": ")
    encode = json.JSONEncoder(default=to_jsonable_python, separators=between).encode
    opening = "{"
    for name, items in lists.items():
        sys.stdout.write(f"{opening}\n  {json.dumps(name)}: [")
        separator = "\n"
        for item in items:
            text = encode(item)
            if text.startswith("{"):
                text = f"{{\n      {text[1:-1]}\n    }}"
            sys.stdout.write(f"{separator}    {text}")
            separator = ",\n"
        sys.stdout.write("\n  ]" if separator == ",\n" else "]")
        opening = ","
    sys.stdout.write("\n}\n")


def print_note(text: str) -> None:
    """Print one line on stderr, escaped likewise. A note that nobody can read ends no command."""
    with suppress(OSError):
        sys.stderr.write(f"{_wrapped(text, sys.stderr)}\n")
        sys.stderr.flush()


def _wrapped(text: str, stream: TextIO) -> str:
    width = terminal_width(stream)
    escaped = escape_control(text)
    return escaped if width is None else "\n".join(wrap(escaped, width))


def own_name() -> str:
    """The name by which this command can be called, so that what is shown can be typed."""
    name = sys.argv[0]
    is_script = name.endswith("/orchestrator")
    return shlex.quote(name) if is_script and which("orchestrator") != name else "orchestrator"
