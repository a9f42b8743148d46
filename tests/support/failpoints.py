"""Failpoints: `orchestrator` in a process that fails at a chosen moment, without a line of product.

    python -m tests.support.failpoints kill before 2 os:replace '*.parquet' -- run matrix.yaml

does what `orchestrator run matrix.yaml` does until the second call of `os.replace` one of whose
arguments matches the pattern, and kills itself there. A target is `module:attribute`, a function
or a method; the modules that have imported a function by name get the failing one as well.
"""

import errno
import importlib
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from fnmatch import fnmatchcase
from typing import Any

MODULE = (sys.executable, "-m", "tests.support.failpoints")
COMMAND_VARIABLE = "FAILPOINT_COMMAND"
"""The command of a `shell`."""
NOBODY = 65534
WRITES = ("io:open", "os:open", "os:mkdir", "os:replace", "os:fsync")
"""The functions by which files come into being; the target `writes` stands for all of them."""


@dataclass(frozen=True)
class Failpoint:
    """The moment of a failure, and its kind."""

    action: str
    """`kill`: SIGKILL. `full`: no space is left, from this call on. `shell`: a shell executes the
    command of the environment. `demote`: from now on this is an unprivileged user's process."""
    when: str
    """`before` or `after` the call."""
    nth: int
    """The number of the call, from 1, among those whose arguments match."""
    target: str
    """`module:attribute`, or `writes`."""
    arguments: str = "*"
    """A glob over each argument of the call as text; of a lock it is the path."""

    @property
    def words(self) -> tuple[str, ...]:
        """The words by which the program's command line names it."""
        return tuple(map(str, astuple(self)))

    def __str__(self) -> str:
        pattern = "" if self.arguments == "*" else f" of {self.arguments}"
        return f"{self.when} call {self.nth} of {self.target}{pattern}"


def kill(when: str, target: str, arguments: str = "*", nth: int = 1) -> Failpoint:
    """The failpoint that kills the program there."""
    return Failpoint("kill", when, nth, target, arguments)


def install(failpoint: Failpoint) -> None:
    """Let this process fail there."""
    counter = itertools.count(1)
    targets = WRITES if failpoint.target == "writes" else (failpoint.target,)
    for target in targets:
        _replace(target, lambda call, target=target: _failing(call, target, failpoint, counter))


def _failing(
    call: Callable[..., Any], target: str, failpoint: Failpoint, counter: "itertools.count[int]"
) -> Callable[..., Any]:
    """The same call, which fails if it is the one that was chosen."""

    def failing(*arguments: Any, **options: Any) -> Any:
        values = (*arguments, *options.values())
        counts = _writes(target, values) and _matches(failpoint.arguments, values)
        number = next(counter) if counts else 0
        is_due = number == failpoint.nth or (failpoint.action == "full" and number > failpoint.nth)
        if is_due and failpoint.when == "before":
            ACTIONS[failpoint.action]()
        result = call(*arguments, **options)
        if is_due and failpoint.when == "after":
            ACTIONS[failpoint.action]()
        return result

    return failing


def _writes(target: str, values: Sequence[Any]) -> bool:
    """False for files that are opened to be read."""
    if target == "io:open":
        return any(isinstance(value, str) and value[:1] in "wax" for value in values[1:2])
    if target == "os:open":
        return bool(values[1] & os.O_CREAT)
    return True


def _matches(pattern: str, values: Sequence[Any]) -> bool:
    return any(fnmatchcase(_text(value), pattern) for value in values or [""])


def _text(value: object) -> str:
    """The value in one line: of a lock its path, nothing of what is still being made."""
    with suppress(AttributeError):
        return " ".join(str(getattr(value, "lock_file", value)).split())
    return ""


def _replace(target: str, failing: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put the failing function in place of the target, wherever modules hold it."""
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    original = getattr(owner, name)
    replacement = failing(original)
    setattr(owner, name, replacement)
    if owners:
        return
    for holder in list(sys.modules.values()):
        for held, value in list(vars(holder).items()) if hasattr(holder, "__dict__") else ():
            if value is original:
                setattr(holder, held, replacement)


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _disk_full() -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _shell() -> None:
    subprocess.run(os.environ[COMMAND_VARIABLE], shell=True, check=False)


def _demote() -> None:
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)


ACTIONS = {"kill": _kill, "full": _disk_full, "shell": _shell, "demote": _demote}


def main() -> None:
    """Execute the command behind `--` with the failpoint before it."""
    end = sys.argv.index("--")
    action, when, nth, *target = sys.argv[1:end]
    install(Failpoint(action, when, int(nth), *target))
    from orchestrator.commands.main import main as orchestrator

    sys.argv = ["orchestrator", *sys.argv[end + 1 :]]
    orchestrator()


if __name__ == "__main__":
    main()
