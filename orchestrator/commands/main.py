"""The one place where errors become words and exit codes."""

import errno
import gc
import os
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import NoReturn

import typer
from typer import TyperException

from orchestrator.commands.app import app
from orchestrator.commands.program.completion import PROGRAM, completing
from orchestrator.commands.program.program import chosen, usage_error
from orchestrator.screen.lines import print_note
from orchestrator.screen.streams import LossyStream, discard, occupy_descriptors, open_stream
from orchestrator.system.files import REMEDY, file_hint
from orchestrator.system.memory import remove_spill_folder
from orchestrator.system.threads import InterruptibleThread
from runner.contract.errors import BenchError, StoreError
from runner.contract.processes import WithoutPandas

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PATIENCE = b"cleaning up; once more to give up\n"
INTERRUPTED = 130
READER_GONE = 128 + signal.SIGPIPE
BUG = 70
_STDERR = 2
_NO_PLUGINS = ("PYDANTIC_DISABLE_PLUGINS", "__all__")
"""Pydantic looks for its plugins among all that is installed, at each start."""
_OBJECTS_A_COLLECTION = 50_000
"""New objects after which Python looks for garbage: an import makes many and leaves none."""
_UNWRITABLE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""Errors of a stdout that leads to a file. Those of other files are StoreErrors by now."""


def heeded_signals() -> tuple[signal.Signals, ...]:
    """The signals that end a command, except those that were ignored at start, as by `nohup`."""
    return tuple(sig for sig in SIGNALS if signal.getsignal(sig) is not signal.SIG_IGN)


class Interruptions:
    """Turns signals into KeyboardInterrupt, but lets the clean-up that follows finish."""

    def __init__(self) -> None:
        self._count = 0

    def install(self) -> None:
        for number in heeded_signals():
            signal.signal(number, self._take)

    def _take(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self._count += 1
        if self._count == 2:
            with suppress(OSError):
                os.write(_STDERR, PATIENCE)
        else:
            raise KeyboardInterrupt


def main() -> NoReturn:
    """Run the command line, and end the process."""
    sys.meta_path.insert(0, WithoutPandas)
    os.environ.setdefault(*_NO_PLUGINS)
    code = run()
    if InterruptibleThread.has_given_up():  # Python's own end would pull the ground from under it
        remove_spill_folder()
        os._exit(code)
    sys.exit(code)


def run() -> int:
    """Run the command line, and return one of the documented exit codes."""
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    occupy_descriptors()
    sys.stdout, sys.stderr = open_stream(sys.stdout), LossyStream.around(open_stream(sys.stderr))
    Interruptions().install()
    code = _exit_code(_run)
    return _exit_code(_flush) or code


def _run() -> int:
    if completing(app):
        return 0
    result = app(standalone_mode=False, prog_name=PROGRAM)
    return result if isinstance(result, int) else 0


def _flush() -> int:
    sys.stdout.flush()
    return 0


def _exit_code(work: Callable[[], int]) -> int:
    try:
        return work()
    except TyperException as error:
        return _show_usage(error)
    except (typer.Abort, KeyboardInterrupt):
        print_note("interrupted")
        return INTERRUPTED
    except (BrokenPipeError, SystemExit) as end:
        return _leave(end)
    except Exception as error:
        return _show_error(error)


def _show_error(error: Exception) -> int:
    """Show an error, and return its exit code.

    A function of its own: a variable of the frame that catches an error would keep it alive with
    all that it refers to, and DuckDB complains at the end about what is still there.
    """
    if isinstance(error, OSError) and error.errno in _UNWRITABLE and error.filename is None:
        discard(sys.stdout)
        error = StoreError(
            f"stdout: cannot be written: {error.strerror}",
            hint=file_hint(error, f"{REMEDY}; what was printed is not whole"),
        )
    if isinstance(error, BenchError):
        from orchestrator.screen.words.reasons import error_hint, error_text  # most end without

        _print_error("error", error_text(error), error_hint(error))
        return error.exit_code
    message = f"{type(error).__name__}: {error}"
    _print_error("bug", message, "run it again with `orchestrator --debug …` and report it")
    return BUG


def _print_error(kind: str, message: str, hint: str | None) -> None:
    """Show the current error, which may quote untrusted text."""
    if chosen.debug:
        print_note(traceback.format_exc().removesuffix("\n"))
    print_note(f"{kind}: {message}")
    if hint:
        print_note(f"hint: {hint}")


def _leave(end: BrokenPipeError | SystemExit) -> int:
    """Whoever read our output, `head` for one, may have had enough, which is no bug.

    typer ends the process by itself after shell completion, and where it meets a broken pipe.
    """
    if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):
        raise end
    discard(sys.stdout)
    return READER_GONE


def _show_usage(error: TyperException) -> int:
    """Show what is wrong with the words, or the help of a program without any."""
    if len(sys.argv) == 1:
        print_note(error.message)
        return error.exit_code
    refused = usage_error(error, sys.argv[1:])
    _print_error("error", str(refused), refused.hint)
    return refused.exit_code
