"""Lines of text: results on stdout, notes on stderr. Light enough for every command to import."""

import sys

from orchestrator.system.text import escape_control


def print_line(text: str = "") -> None:
    """Print one line of result on stdout, whatever would steer the terminal escaped."""
    sys.stdout.write(f"{escape_control(text)}\n")


def print_json(value: object) -> None:
    """Print a frozen value as JSON: pydantic models, dataclasses, paths and plain data."""
    import json

    from pydantic_core import to_jsonable_python

    print_line(json.dumps(to_jsonable_python(value), indent=2))


def print_note(text: str) -> None:
    """Print one line on stderr, escaped likewise. A disk that is full there ends no command."""
    try:
        sys.stderr.write(f"{escape_control(text)}\n")
        sys.stderr.flush()
    except BrokenPipeError:
        raise
    except OSError:
        return
