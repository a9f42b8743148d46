"""Launch of a cold start, and its times as the parent sees them."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO

import psutil

from runner.backends.base import FailureKind
from runner.contract.errors import BenchError, TimedOut, Unavailable, Unsupported
from runner.contract.processes import OWN_PYTHON, end_facts, last_line, oom_kills, tail_of
from runner.contract.reasons import reason
from runner.measure.clock import monotonic
from runner.modes.startup.child import START_ANSWER, StartFailure, StartReport, StartRequest

_END_S = 5
_COMMAND = (sys.executable, "-P", "-m", "runner.modes.startup.child")


@dataclass(frozen=True)
class TimedStart:
    """A start that reached the requested state; durations in nanoseconds."""

    launched_at_ns: int
    report: StartReport

    @property
    def to_loaded_ns(self) -> int:
        """From the launch to the loaded model, with the runner's own share."""
        return self.report.loaded_at_ns - self.launched_at_ns

    @property
    def stages_ns(self) -> Mapping[str, int]:
        """Stages to the first output; those of a session's own processes go before ours."""
        own = {
            "interpreter": self.report.first_line_at_ns - self.launched_at_ns,
            "import": self.report.import_ns,
        }
        stages: Mapping[str, int] = {str(name): ns for name, ns in self.report.stages_ns.items()}
        return {**own, **stages, "first_query": self.report.first_query_ns or 0}

    @property
    def to_output_ns(self) -> int:
        return sum(self.stages_ns.values())

    @property
    def runner_ns(self) -> int:
        """The runner's own share until the model is loaded: its imports, reading the request."""
        return self.to_loaded_ns - (self.to_output_ns - self.stages_ns["first_query"])


_ERRORS: Mapping[FailureKind, type[Exception]] = {
    "unsupported": Unsupported,
    "unavailable": Unavailable,
    "out_of_memory": MemoryError,
    "timeout": TimedOut,
    "failed": BenchError,
}


class PendingStart:
    """A started interpreter that has not answered yet."""

    def __init__(self, process: subprocess.Popen[bytes], stderr: IO[bytes], at_ns: int) -> None:
        self._process = process
        self._stderr = stderr
        self._launched_at_ns = at_ns
        self._oom_kills_before = oom_kills()

    def wait(self) -> TimedStart:
        stdout = self._process.stdout
        line = stdout.readline() if stdout else b""
        answered_at = monotonic()
        answer = START_ANSWER.validate_json(line) if line else self._death()
        if isinstance(answer, StartFailure):
            error = _ERRORS[answer.kind](answer.reason)
            error.add_note(f"stderr of the cold start:\n{tail_of(self._stderr)}")
            raise error
        began_at, loaded_at = answer.first_line_at_ns, answer.loaded_at_ns
        if not self._launched_at_ns <= began_at <= loaded_at <= answered_at:
            raise BenchError(reason("clocks_disagree"))
        return TimedStart(self._launched_at_ns, answer)

    def _death(self) -> StartFailure:
        code = self._process.wait()
        killed = code == -signal.SIGKILL and oom_kills() > self._oom_kills_before
        words = last_line(tail_of(self._stderr)) or None
        return StartFailure(
            kind="out_of_memory" if killed else "failed",
            reason=reason("cold_start_died", **end_facts(code), words=words),
        )


@contextmanager
def launch_start(
    request: StartRequest, command: Sequence[str] = _COMMAND
) -> Iterator[PendingStart]:
    """Launch a fresh interpreter, not a fork: nothing is imported, bytecode is used as it is.

    It ends with the context, or with this process. Its temporary files are removed then, since it
    cannot remove them when it is killed.
    """
    line = request.model_dump_json().encode() + b"\n"
    with tempfile.TemporaryFile() as stderr, tempfile.TemporaryDirectory() as scratch:
        environment = {**os.environ, **OWN_PYTHON, "TMPDIR": scratch}
        launched_at = monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, env=environment
        )
        try:
            if process.stdin is not None:
                with suppress(BrokenPipeError):  # `wait` reports its death
                    process.stdin.write(line)
                    process.stdin.flush()
            yield PendingStart(process, stderr, launched_at)
        finally:
            _end(process)


def _end(process: subprocess.Popen[bytes]) -> None:
    started: list[psutil.Process] = []
    with suppress(psutil.NoSuchProcess):
        started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.communicate()
    for child in started:
        with suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(started, timeout=_END_S)
