"""The one place where errors become words and exit codes."""

import os
import signal
import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

import typer
from typer import TyperException

from orchestrator.cli import commands, streams
from orchestrator.cli.app import app, chosen
from orchestrator.system.text import escape_control
from runner.contract.errors import BenchError

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = b"cleaning up; once more to give up\n"


class Interruptions:
    """Turns signals into KeyboardInterrupt, but lets the clean-up that follows finish."""

    def __init__(self) -> None:
        self._count = 0

    def install(self) -> None:
        """Take over the signals, save those that somebody, `nohup` for one, has us ignore."""
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._count += 1
        if self._count == 2:
            os.write(sys.__stderr__.fileno() if sys.__stderr__ else 2, PATIENCE)
        else:
            raise KeyboardInterrupt


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
        typer.echo(escape_control(traceback.format_exc()), err=True, nl=False)
    typer.echo(f"{kind}: {escape_control(message)}", err=True)
    if hint:
        typer.echo(f"hint: {escape_control(hint)}", err=True)


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
