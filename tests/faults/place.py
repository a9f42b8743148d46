"""A user's folder in which a command fails at a chosen moment and is tried again."""

import signal
import subprocess
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from orchestrator.system.locks import FOLDER_VARIABLE
from tests.conftest import ROOT
from tests.support.failpoints import MODULE, Failpoint
from tests.support.nothing_left import assert_nothing_left
from tests.support.workplace import Workplace


@dataclass
class FailingPlace(Workplace):
    """A workplace whose device locks are its own."""

    @classmethod
    def in_folder(cls, folder: Path, launcher: str) -> Self:
        """A place in this folder."""
        return cls(folder, launcher, {FOLDER_VARIABLE: str(folder / "locks")})

    def fail(self, failpoint: Failpoint, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Execute a command that fails there."""
        other = replace(self, environment={**self.environment, "PYTHONPATH": str(ROOT)})
        process = other.start(*failpoint.words, "--", *arguments, program=MODULE)
        stdout, stderr = process.communicate(timeout=300)
        return subprocess.CompletedProcess(arguments, process.returncode, stdout, stderr)

    def kill_at(self, failpoint: Failpoint, *arguments: str) -> None:
        """Execute a command that is killed there; fails if the moment never comes."""
        done = self.fail(failpoint, *arguments)
        assert done.returncode == -signal.SIGKILL, f"{failpoint}: {done.stdout}{done.stderr}"

    def finish(self, *codes: int) -> float:
        """Resume the newest run, if there is one, else begin it; returns the seconds it took.

        Afterwards everything is as after a run that nothing happened to.
        """
        began = time.monotonic()
        done = self.resume() if self.has_begun else self.run()
        took_s = time.monotonic() - began
        assert done.returncode in (codes or (0,)), done.stderr
        assert "bug" not in done.stderr
        assert_nothing_left(self)
        return took_s
