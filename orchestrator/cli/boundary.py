"""The one place where errors become words and exit codes."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import NoReturn

import typer
from typer import TyperException

from orchestrator.cli import commands, streams
from orchestrator.cli.app import app, chosen
from orchestrator.cli.interrupts import Interruptions
from orchestrator.visible import visible
from runner.errors import BenchError

INTERRUPTED = 130
READER_GONE = 128 + signal.SIGPIPE
BUG = 70
_PREFIX = "Value error, "
"""What typer lets pydantic put before its own sentence about a value."""


def main() -> NoReturn:
    """Run the command line; the process ends with one of the documented exit codes."""
    streams.mend()
    Interruptions().install()
    code = _ended(_run)
    sys.exit(_ended(_flush) or code)


def _run() -> int:
    commands.register(app)
    result = app(standalone_mode=False)
    return result if isinstance(result, int) else 0


def _flush() -> int:
    sys.stdout.flush()
    return 0


def _ended(work: Callable[[], int]) -> int:
    """The exit code of this work, whatever ends it."""
    try:
        return work()
    except TyperException as error:
        _show_usage(error)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as end:
        return _leave(end)
    except BenchError as error:
        _tell("error", str(error), error.hint)
        return error.exit_code
    except Exception as error:  # a bug: say so instead of dropping a traceback on the user
        _tell(
            "bug",
            f"{type(error).__name__}: {error}",
            "run it again with `orchestrator --debug …` and report it",
        )
        return BUG


def _tell(kind: str, message: str, hint: str | None) -> None:
    """Show the error in hand, which may quote what others wrote."""
    if chosen.debug:
        typer.echo(visible(traceback.format_exc()), err=True, nl=False)
    typer.echo(f"{kind}: {visible(message)}", err=True)
    if hint:
        typer.echo(f"hint: {visible(hint)}", err=True)


def _leave(end: BrokenPipeError | SystemExit) -> int:
    """Whoever read our output, `head` for one, may have had enough, which is no bug.

    typer ends the process by itself after shell completion, and where it meets a broken pipe.
    """
    if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
        raise end
    # Python's own last flush shall succeed.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return READER_GONE


def _show_usage(error: TyperException) -> None:
    """Usage errors know how to show themselves, with the command's usage line."""
    error.message = error.message.replace(_PREFIX, "", 1)
    show = getattr(error, "show", None)
    if show is not None:
        show()
    else:
        typer.echo(f"error: {error}", err=True)
