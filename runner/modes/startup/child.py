"""Child process of a start: `python -m runner.modes.startup.child`.

It reads a request as one line of JSON from stdin, which the parent keeps open as long as the child
shall live, and writes an answer as one line of JSON to stdout.
"""

# ruff: noqa: E402 - the clock is read before anything else is imported

import time

_FIRST_LINE_NS = time.perf_counter_ns()

# Every runtime needs numpy and our own imports do too, so it is imported where it can be timed.
import numpy  # noqa: F401

_NUMPY_NS = time.perf_counter_ns() - _FIRST_LINE_NS

import resource
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import psutil
from pydantic import TypeAdapter

from runner.backends import load_runtime
from runner.backends.base import FailureKind, RuntimeModule, Session, Stage, failure_kind
from runner.contract.axes import IN_CHILDREN
from runner.contract.cell import Frozen
from runner.contract.errors import BenchError, Unsupported, reason_of
from runner.contract.graph import GRAPH_FILE, find_graph
from runner.contract.job import Job
from runner.contract.models.catalogue import WEIGHTS_SUFFIX
from runner.contract.reasons import Reason, reason
from runner.inputs import synthesise
from runner.measure.clock import monotonic
from runner.measure.memory.readers import ResidentReader, TreeReader
from runner.measure.phases import SelfTimed, time_once
from runner.process import claim_stdout, die_at_end_of_stdin

_VIRTUAL = ("/proc/", "/sys/", "/dev/")
_PATH_AT = 5  # the column of a mapping's path, proc(5)
_BLOCK_BYTES = 512


class OpenedFiles:
    """Notes what Python opens from now on, and knows where the rest of a start's files are listed.

    Python reports what it opens itself (PEP 578). Libraries are mapped as long as they are used.
    What a runtime's own code opens and closes lies in the folder of the prepared graph, or beside a
    configuration that was opened.
    """

    def __init__(self) -> None:
        self._opened: set[str] = set()
        sys.addaudithook(self._note)

    def of(self, job: Job, graphs: Path | None) -> list[str]:
        """Plain files of this process's start, sorted."""
        opened = set(self._opened)  # the hook goes on
        folders = {Path(path).parent for path in opened if path.endswith("config.json")}
        weights = (str(path) for folder in folders for path in folder.glob(f"*{WEIGHTS_SUFFIX}"))
        paths = {*opened, *_modules(), *_mapped(), *_graph_files(job, graphs), *weights}
        return sorted(p for p in paths if not p.startswith(_VIRTUAL) and Path(p).is_file())

    def _note(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[0], str):
            self._opened.add(arguments[0])


def _modules() -> Iterator[str]:
    """Sources and bytecode of the modules that are imported, and the interpreter."""
    yield sys.executable
    for module in list(sys.modules.values()):
        for name in ("__file__", "__cached__"):
            path = getattr(module, name, None)
            if isinstance(path, str):
                yield path


def _mapped() -> Iterator[str]:
    """Files that this process and those that it has started map; none where none are listed."""
    own = psutil.Process()
    for process in (own, *own.children(recursive=True)):
        with suppress(OSError):
            maps = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8", errors="replace")
            for line in maps.splitlines():
                yield from line.split(None, _PATH_AT)[_PATH_AT:]


def _graph_files(job: Job, graphs: Path | None) -> Iterator[str]:
    if job.graph is not None:
        try:
            graph, folder = find_graph(job, job.cells[0], graphs)
        except Unsupported:  # a start that succeeded did without
            return
        yield str(folder / GRAPH_FILE)
        for part in graph.parts.values():
            yield from map(str, part.files(folder))


class StartRequest(Frozen):
    """Model to start, and how far."""

    job: Job
    threads: int
    graphs: Path | None = None
    query: bool  # True to execute the first query; else the loaded model is held until the end
    files: bool = False  # True to report the files that the start opened, which costs it time


class StartReport(Frozen):
    """Times of a start. `_at_ns` are readings of the clock that all processes share."""

    first_line_at_ns: int
    import_ns: int
    """Importing the runtime, and numpy before it."""
    stages_ns: dict[Stage, int]
    loaded_at_ns: int
    first_query_ns: int | None
    """Binding the inputs and executing the first query; None if not requested."""
    peak_bytes: int | None
    """Highest resident set, or the last one of a tree of processes; None where the system does not
    report it."""
    unread_share: float | None = None
    """Share of the mapped files' pages that it had not to read from the storage; None where the
    system does not count them, and of a tree of processes."""
    files: tuple[str, ...] = ()


class StartFailure(Frozen):
    """Error that kept the model from starting."""

    kind: FailureKind
    reason: Reason


START_ANSWER: TypeAdapter[StartReport | StartFailure] = TypeAdapter(StartReport | StartFailure)


def main() -> int:
    stdout = claim_stdout()
    request = StartRequest.model_validate_json(sys.stdin.buffer.readline())
    die_at_end_of_stdin()
    with ExitStack() as exits:
        answer = _answer(request, exits)
        if request.query:
            exits.close()  # no process of it outlives the answer
        stdout.write(answer.model_dump_json() + "\n")
        stdout.flush()
        if not request.query:
            signal.pause()
    return 0


def _answer(request: StartRequest, exits: ExitStack) -> StartReport | StartFailure:
    runtime: RuntimeModule | None = None
    opened = OpenedFiles() if request.files else None
    try:
        began = monotonic()
        runtime = load_runtime(request.job.cells[0].runtime)
        import_ns = _NUMPY_NS + monotonic() - began
        report = _start(runtime, import_ns, request, exits)
        files = opened.of(request.job, request.graphs) if opened else []
        return report.model_copy(update={"files": tuple(files)})
    except Exception as error:  # the parent turns it into a verdict
        traceback.print_exc()
        return StartFailure(kind=failure_kind(error, runtime), reason=reason_of(error))


def _start(
    runtime: RuntimeModule, import_ns: int, request: StartRequest, exits: ExitStack
) -> StartReport:
    session = runtime.open_session(request.job, request.threads, request.graphs)
    loaded_at = monotonic()
    exits.callback(session.close)
    first_query_ns, peak_bytes = None, _peak_bytes(request.job)
    if request.query:
        first_query_ns, peak_bytes = _first_query(session, request.job)
    return StartReport(
        first_line_at_ns=_FIRST_LINE_NS,
        import_ns=import_ns,
        stages_ns=dict(session.stages_ns),
        loaded_at_ns=loaded_at,
        first_query_ns=first_query_ns,
        peak_bytes=peak_bytes,
        unread_share=None if _in_children(request.job) else _unread_share(),
    )


def _first_query(session: Session, job: Job) -> tuple[int, int | None]:
    """Execute the first query; its nanoseconds, and the peak bytes before outputs are checked."""
    cell = job.cells[0]
    inputs = synthesise(job.model, cell, job.weights_seed)
    began = monotonic()
    query = session.bind(cell, inputs)
    if isinstance(query, SelfTimed):
        duration = time_once(query, monotonic)
        outputs = query()
    else:
        outputs = query()
        duration = monotonic() - began
    peak_bytes = _peak_bytes(job)
    if not session.all_finite(outputs):
        raise BenchError(reason("not_finite"))
    return duration, peak_bytes


def _in_children(job: Job) -> bool:
    return job.cells[0].runtime in IN_CHILDREN


def _peak_bytes(job: Job) -> int | None:
    try:
        if not _in_children(job):
            return ResidentReader().peak_bytes()
        reader = TreeReader()
        bytes_ = reader.current_bytes()
    except OSError:
        return None
    return None if reader.gap else bytes_  # this user may not read that of one


def _unread_share() -> float | None:
    """Bytes that this process has read from the storage, by the resident pages of mapped files.

    Those are what a start needs of its libraries, and reading ahead reads more, so a cold start has
    0. `ru_inblock` counts in blocks of 512 bytes (getrusage(2); Linux, task_io_accounting_ops.h).
    """
    try:
        mapped = ResidentReader().mapped_file_bytes()
    except OSError:
        return None
    read = resource.getrusage(resource.RUSAGE_SELF).ru_inblock * _BLOCK_BYTES
    return max(0.0, 1 - read / mapped) if mapped else None


if __name__ == "__main__":
    sys.exit(main())
