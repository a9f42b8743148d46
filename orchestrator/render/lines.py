"""Lines of text: results on stdout, notes on stderr. Light enough for every command to import."""

import json
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress

from orchestrator.system.text import escape_control


def print_line(text: str = "") -> None:
    """Print one line of result on stdout, whatever would steer the terminal escaped."""
    sys.stdout.write(f"{escape_control(text)}\n")


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print a frozen value as JSON: pydantic models, dataclasses, paths and plain data."""
    from pydantic_core import to_jsonable_python

    print_line(json.dumps(value, indent=indent, default=to_jsonable_python))


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
        sys.stderr.write(f"{escape_control(text)}\n")
        sys.stderr.flush()
