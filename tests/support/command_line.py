"""The command line called in this process, through the same boundary as a process of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path

from typer.testing import CliRunner

from orchestrator.commands.main import SIGNALS, run
from orchestrator.commands.program.program import chosen
from tests.support.terminal import a_terminal


def call(
    *arguments: str, folder: Path, environment: Mapping[str, str], width: int | None = None
) -> "subprocess.CompletedProcess[str]":
    """Call `orchestrator` in that folder; afterwards this process is as it was.

    With a width, it writes to a terminal that is so wide.
    """
    command = ["orchestrator", *arguments]
    with _restored(folder, command), CliRunner().isolation(env=environment) as (stdout, stderr, _):
        try:
            with nullcontext() if width is None else a_terminal(width):
                code = run()
        except SystemExit as end:  # of typer itself, after shell completion
            code = int(end.code or 0)
        sys.stdout.flush()
        return subprocess.CompletedProcess(
            command, code, stdout.getvalue().decode(), stderr.getvalue().decode()
        )


@contextmanager
def _restored(folder: Path, command: list[str]) -> Iterator[None]:
    """Work in another folder, with these arguments; then restore all that a command changes."""
    cwd, argv, before = Path.cwd(), sys.argv, os.environ.copy()
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    options = asdict(chosen)
    os.chdir(folder)
    sys.argv = command
    try:
        yield
    finally:
        os.chdir(cwd)
        sys.argv = argv
        os.environ.clear()
        os.environ.update(before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        vars(chosen).update(options)


def files(folder: Path) -> set[str]:
    """Every file and folder below."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def complains(done: "subprocess.CompletedProcess[str]", code: int, *words: str) -> None:
    """Assert that it ended with that code and one plain error, nothing on stdout."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert all(word in done.stderr for word in words), done.stderr
