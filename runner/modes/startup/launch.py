"""One cold start, as its parent sees it."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

from runner.backends.failures import FailureKind
from runner.contract.errors import BenchError, Unavailable, Unsupported
from runner.contract.process_exit import describe_end, last_line, oom_kills, tail_of
from runner.measure.clock import monotonic
from runner.modes.startup.child import ANSWER, Failure, Report, Request

COMMAND = (sys.executable, "-m", "runner.modes.startup.child")


@dataclass(frozen=True)
class Start:
    """A start that reached what was asked of it; durations in nanoseconds."""

    launched_at_ns: int
    report: Report

    @property
    def to_loaded_ns(self) -> int:
        """From the launch to the loaded model, with what is our own."""
        return self.report.loaded_at_ns - self.launched_at_ns

    @property
    def stages_ns(self) -> Mapping[str, int]:
        """From the launch to the first output, without what is our own."""
        return {
            "interpreter": self.report.first_line_at_ns - self.launched_at_ns,
            "import": self.report.import_ns,
            "instantiate": self.report.stages_ns["instantiate"],
            "weights": self.report.stages_ns["weights"],
            "first_query": self.report.first_query_ns or 0,
        }

    @property
    def to_output_ns(self) -> int:
        """The sum of the stages."""
        return sum(self.stages_ns.values())

    @property
    def runner_ns(self) -> int:
        """What is our own until the model is loaded: our imports, reading the request."""
        stages = self.stages_ns
        return self.to_loaded_ns - (self.to_output_ns - stages["first_query"])


ERRORS: Mapping[FailureKind, type[BenchError]] = {
    "unsupported": Unsupported,
    "unavailable": Unavailable,
    "failed": BenchError,
}


class Starting:
    """An interpreter under way."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: IO[bytes], at_ns: int) -> None:
        self._process = process
        self._stderr = stderr
        self._launched_at_ns = at_ns
        self._oom_kills_before = oom_kills()

    def wait(self) -> Start:
        """Wait until it has done what was asked.

        Raises:
            Unsupported, Unavailable, MemoryError: what the runtime said.
            BenchError: it failed or died, or its clock is not ours.
        """
        stdout = self._process.stdout
        line = stdout.readline() if stdout else b""
        answered_at = monotonic()
        answer = ANSWER.validate_json(line) if line else self._death()
        if isinstance(answer, Failure):
            raise self._error(answer)
        theirs = (answer.first_line_at_ns, answer.loaded_at_ns)
        if not self._launched_at_ns <= theirs[0] <= theirs[1] <= answered_at:
            raise BenchError("processes disagree about the time here, so starts cannot be timed")
        return Start(self._launched_at_ns, answer)

    def _death(self) -> Failure:
        code = self._process.wait()
        killed = code == -signal.SIGKILL and oom_kills() > self._oom_kills_before
        words = last_line(tail_of(self._stderr)) or "nothing"
        return Failure(
            kind="out_of_memory" if killed else "failed",
            message=f"a cold start {describe_end(code)}; its last words on stderr: {words}",
            hint=None,
        )

    def _error(self, failure: Failure) -> Exception:
        error: Exception
        if failure.kind == "out_of_memory":
            error = MemoryError(failure.message)
        else:
            error = ERRORS[failure.kind](failure.message, hint=failure.hint)
        error.add_note(f"stderr of the cold start:\n{tail_of(self._stderr)}")
        return error


@contextmanager
def starting(request: Request, command: Sequence[str] = COMMAND) -> Iterator[Starting]:
    """Launch a fresh interpreter: no fork of ours, nothing imported, bytecode as it lies.

    It ends with the context, or with this process; so do its temporary files, as it cannot remove
    them when it is killed.
    """
    line = request.model_dump_json().encode() + b"\n"
    with tempfile.TemporaryFile() as stderr, tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, "TMPDIR": scratch}
        launched_at = monotonic()
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
        )
        try:
            _send(process, line)
            yield Starting(process, stderr, launched_at)
        finally:
            process.kill()
            process.communicate()


def _send(process: subprocess.Popen[bytes], line: bytes) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # its death is seen where its answer is awaited
            process.stdin.write(line)
            process.stdin.flush()
