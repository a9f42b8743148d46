"""`python -m runner.cold_start`: one start of a model in a fresh interpreter, stage by stage.

Takes a request as one line of JSON on stdin, which stays open for as long as the parent wants it
to live; gives an answer as one line of JSON on stdout.
"""

import signal
import sys
import time
import traceback
from pathlib import Path

from pydantic import TypeAdapter

from runner.backends import load_runtime
from runner.backends.base import RuntimeModule, Session, Stage
from runner.backends.failures import FailureKind, failure_kind, failure_reason
from runner.contract.cell import Frozen
from runner.contract.errors import BenchError
from runner.contract.job import Job
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from runner.measure.memory.process import ResidentReader
from runner.process.streams import claim_stdout, die_with_parent

FIRST_LINE_NS = time.perf_counter_ns()


NUMPY_NS = time.perf_counter_ns() - FIRST_LINE_NS


class Request(Frozen):
    """What to start."""

    job: Job
    """The job, with the cell alone."""
    threads: int
    """Threads that one operator may use."""
    graphs: Path | None = None
    """The folder of prepared graphs."""
    query: bool
    """Whether to execute the first query; if not, the loaded model is held until the end."""


class Report(Frozen):
    """How a start went. `_at_ns` are readings of the clock that all processes share."""

    first_line_at_ns: int
    import_ns: int
    """Importing the runtime, and numpy before it."""
    stages_ns: dict[Stage, int]
    loaded_at_ns: int
    first_query_ns: int | None
    """Binding the inputs and executing the first query; None if that was not asked."""
    peak_bytes: int | None
    """Highest resident set; None where the system does not tell."""


class Failure(Frozen):
    """What kept the model from starting."""

    kind: FailureKind
    message: str
    hint: str | None


ANSWER: TypeAdapter[Report | Failure] = TypeAdapter(Report | Failure)


def main() -> int:
    """Start the model that stdin names."""
    stdout = claim_stdout()
    request = Request.model_validate_json(sys.stdin.buffer.readline())
    die_with_parent()
    answer = _answer(request)
    stdout.write(answer.model_dump_json() + "\n")
    stdout.flush()
    if not request.query:
        signal.pause()
    return 0


def _answer(request: Request) -> Report | Failure:
    runtime: RuntimeModule | None = None
    try:
        began = monotonic()
        runtime = load_runtime(request.job.cells[0].runtime)
        import_ns = NUMPY_NS + monotonic() - began
        return _start(runtime, import_ns, request)
    except Exception as error:  # whatever a runtime raises, the parent turns into a verdict
        traceback.print_exc()
        hint = error.hint if isinstance(error, BenchError) else None
        return Failure(kind=failure_kind(error, runtime), message=failure_reason(error), hint=hint)


def _start(runtime: RuntimeModule, import_ns: int, request: Request) -> Report:
    session = runtime.open_session(request.job, request.threads, request.graphs)
    loaded_at = monotonic()
    first_query_ns, peak_bytes = None, _peak_bytes()
    if request.query:
        first_query_ns, peak_bytes = _first_query(session, request.job)
    return Report(
        first_line_at_ns=FIRST_LINE_NS,
        import_ns=import_ns,
        stages_ns=dict(session.stages_ns),
        loaded_at_ns=loaded_at,
        first_query_ns=first_query_ns,
        peak_bytes=peak_bytes,
    )


def _first_query(session: Session, job: Job) -> tuple[int, int | None]:
    """Nanoseconds it took, and the peak before its outputs are checked, bytes."""
    cell = job.cells[0]
    inputs = synthesise(job.model, cell, job.seed)
    began = monotonic()
    outputs = session.bind(cell, inputs)()
    duration, peak_bytes = monotonic() - began, _peak_bytes()
    if not session.all_finite(outputs):
        raise BenchError("the outputs hold NaN or infinity, so the arithmetic cannot be trusted")
    return duration, peak_bytes


def _peak_bytes() -> int | None:
    try:
        return ResidentReader().peak_bytes()
    except OSError:
        return None


if __name__ == "__main__":
    sys.exit(main())
