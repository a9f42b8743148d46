"""Traces of one call, made by OpenVINO's performance counters in requests of their own."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

from runner.backends.base import Query
from runner.backends.graph_trace import NODE, Event, save_trace
from runner.backends.openvino_compile import Compiler
from runner.backends.openvino_step import Step

MICROSECOND = timedelta(microseconds=1)


def trace(action: Query, steps: Iterable[Step], compiler: Compiler, stem: Path) -> None:
    """Profile the second of two calls; write its trace and a table of the heaviest operators.

    The parts are compiled once more, with counters, for this alone. The first call does what
    others don't, so it is left out.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    with ExitStack() as stack:
        requests = [
            stack.enter_context(step.executing(compiler.compile(step.model, PERF_COUNT=True)))
            for step in steps
        ]
        action()
        action()
        events = list(events_of(requests))
    save_trace(events, stem, by="kernel")


def events_of(requests: Iterable[Any]) -> Iterator[Event]:
    """The operators that the requests executed last.

    OpenVINO tells how long each took, not when it began, so they are laid end to end in the order
    in which they execute.
    """
    now = 0.0
    for number, request in enumerate(requests):
        for node in request.get_profiling_info():
            duration = node.real_time / MICROSECOND
            if node.status.name != "EXECUTED":
                continue
            yield {
                "name": node.node_name,
                "cat": NODE,
                "ph": "X",
                "pid": 0,
                "tid": number,
                "ts": now,
                "dur": duration,
                "args": {"op_name": node.node_type, "kernel": node.exec_type},
            }
            now += duration
