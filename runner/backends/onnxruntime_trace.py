"""Traces of one call, made by ONNX Runtime's own profiler in sessions of their own."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from runner.backends.base import Query
from runner.backends.graph_trace import Event, save_trace
from runner.backends.onnxruntime_graph import OnnxGraph

RUN = "model_run"
MICROSECONDS_PER_NS = 1e-3


def trace(action: Query, opened: OnnxGraph, stem: Path) -> None:
    """Profile the second of two calls; write its trace and a table of the heaviest operators.

    Sessions that profile are made for this. Their first call does what others don't, so it is
    left out.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    with tempfile.TemporaryDirectory() as folder, opened.profiled(Path(folder)) as sessions:
        action()
        action()
        profiles = [
            (session.get_profiling_start_time_ns(), Path(session.end_profiling()))
            for session in sessions.values()
        ]
        events = second_half(profiles)
    save_trace(events, stem, by="provider")


def second_half(profiles: Iterable[tuple[int, Path]]) -> list[Event]:
    """The events of the later half of each session's runs, on one clock."""
    read = [(start, json.loads(path.read_bytes())) for start, path in profiles]
    earliest = min(start for start, _ in read)
    return [
        event | {"ts": event["ts"] + (start - earliest) * MICROSECONDS_PER_NS}
        for start, events in read
        for event in _later(events)
    ]


def _later(events: list[Event]) -> list[Event]:
    """What began with the later half of the runs, or behind it."""
    runs = sorted(event["ts"] for event in events if event["name"] == RUN)
    begin = runs[len(runs) // 2] if runs else 0
    return [event for event in events if event["ts"] >= begin]
