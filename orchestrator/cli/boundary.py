"""The one place where errors become words and exit codes."""

import os
import signal
import sys
import traceback
from io import StringIO, TextIOWrapper
from typing import NoReturn

import typer
from typer import TyperException

from orchestrator.cli import commands
from orchestrator.cli.app import app, chosen
from orchestrator.cli.interrupts import Interruptions
from runner.errors import BenchError

INTERRUPTED = 130
READER_GONE = 128 + signal.SIGPIPE
BUG = 70


def main() -> NoReturn:
    """Run the command line; the process ends with one of the documented exit codes."""
    _mend_streams()
    Interruptions().install()
    sys.exit(_run())


def _run() -> int:
    commands.register(app)
    try:
        result = app(standalone_mode=False)
        sys.stdout.flush()
    except TyperException as error:
        _show_usage(error)
        return error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        typer.echo("interrupted", err=True)
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as end:
        return _leave(end)
    except BenchError as error:
        if chosen.debug:
            traceback.print_exc()
        typer.echo(f"error: {error}", err=True)
        if error.hint:
            typer.echo(f"hint: {error.hint}", err=True)
        return error.exit_code
    except Exception as error:  # a bug: say so instead of dropping a traceback on the user
        if chosen.debug:
            raise
        typer.echo(f"bug: {type(error).__name__}: {error}", err=True)
        typer.echo("hint: run it again with `orchestrator --debug …` and report it", err=True)
        return BUG
    return result if isinstance(result, int) else 0


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
    show = getattr(error, "show", None)
    if show is not None:
        show()
    else:
        typer.echo(f"error: {error}", err=True)


def _mend_streams() -> None:
    """Output goes nowhere if its stream is closed, and loses what its encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, StringIO())
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
