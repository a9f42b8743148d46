"""Evidence that the claimed execution provider did the work."""

import json
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.backends.base import Query
from runner.backends.evidence import joined, watch
from runner.backends.graphs.outputs import Event, save_trace
from runner.backends.onnxruntime.device import CPU, OnnxDevice
from runner.backends.onnxruntime.graph import OnnxGraph
from runner.backends.onnxruntime.query import OnnxQuery
from runner.backends.onnxruntime.sessions import Nodes, nodes_of, refuses_fallback
from runner.contract.record import Proof


@dataclass(frozen=True)
class Facts:
    """What was seen beside the nodes."""

    providers_there: bool
    """Whether every session has the claimed provider."""
    values_there: bool
    """Whether inputs and outputs lie in the claimed device's memory."""
    strict: bool
    """Whether every session was barred from the CPU provider."""
    failed: bool
    """Whether the query raised."""


def prove(query: Query, device: OnnxDevice) -> tuple[Proof, dict[str, str]]:
    """Run the query once; say on which providers its nodes lie, and where its values.

    The nodes are those of every part, of one that the query leaves out as well: where generation
    is measured, most of it is the part that extends the cache.
    """
    if not isinstance(query, OnnxQuery):
        return "none", {"claimed": device.claimed}
    seen = watch(query)
    outputs: Mapping[str, Any] = seen.outputs or {}
    sessions = query.opened.sessions.values()
    nodes = nodes_of(sessions)
    inputs_at, outputs_at = _places(query.inputs), _places(outputs)
    facts = Facts(
        providers_there=all(device.provider in each.get_providers() for each in sessions),
        values_there=inputs_at | outputs_at <= {device.memory},
        strict=all(refuses_fallback(session) for session in sessions),
        failed=seen.error is not None,
    )
    evidence = {
        "claimed": device.claimed,
        "provider": device.provider,
        "providers": joined(name for session in sessions for name in session.get_providers()),
        "parts": joined(query.opened.graph.parts),
        "cpu_fallback": "disabled" if facts.strict else "allowed",
        "nodes": _counted(Counter({name: found.total() for name, found in nodes.items()})),
        "inputs": joined(inputs_at),
        "outputs": joined(outputs_at),
        **({} if device.is_simulated else seen.times),
        **seen.failure,
    }
    if device.is_accelerator and CPU in nodes:
        evidence["nodes_on_cpu"] = _counted(nodes[CPU])
    return verdict(device.provider, nodes, facts), evidence


def verdict(claimed: str, nodes: Nodes, facts: Facts) -> Proof:
    """What nodes and facts amount to for that provider."""
    strangers = nodes.keys() - {claimed}
    absent = not facts.providers_there or (nodes and claimed not in nodes)
    if absent or not facts.values_there or strangers - {CPU} or (strangers and facts.strict):
        return "contradicted"
    return "partial" if strangers or facts.failed or not nodes else "proven"


def _places(values: Mapping[str, Any]) -> set[str]:
    return {value.device_name() for value in values.values()}


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in sorted(words.items())) or "none"


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
