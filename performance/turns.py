"""Processes that take bursts in turns, as the runner does: a line on stdin for each of them."""

import json
import os
import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.planning.estimate import LONGEST_BURST_S
from orchestrator.running.turns import blocks

WAITS = {"event": "waits"}


class Process:
    """A process that works in its turns; it writes a line of JSON whenever it waits for one."""

    def __init__(self, command: Sequence[str]) -> None:
        """Start the process, and return once it waits for its first turn."""
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        self.id = self._process.pid
        self._wait()

    def take(self, burst_s: float) -> None:
        self._order({"burst_s": burst_s})
        self._wait()

    def end(self) -> list[Any]:
        """Let it go on to its end; returns the lines of JSON that it writes meanwhile."""
        self._order({})
        assert self._process.stdout is not None
        lines = [json.loads(line) for line in self._process.stdout]
        if self._process.wait():
            self._fail()
        return lines

    def _order(self, order: dict[str, float]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def _wait(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if json.loads(line).get("event") == "waits":
                return
        self._fail()

    def _fail(self) -> None:
        self._process.wait()
        assert self._process.stderr is not None
        words = self._process.stderr.read()[-2000:]
        raise SystemExit(f"{self._process.args!r} failed:\n{words}")


def take_turns(processes: Sequence[Process], bursts: int, burst_s: float = LONGEST_BURST_S) -> None:
    for block in blocks(processes, bursts, random.Random(bursts)):
        for process in block:
            process.take(burst_s)


def runner_command(python: str, job: Path, out: Path, graphs: Path) -> tuple[str, ...]:
    """The runner over a job that takes turns."""
    options = ("--job", str(job), "--out", str(out), "--graphs", str(graphs))
    return (python, "-P", "-m", "runner", *options, "--die-with-parent")
