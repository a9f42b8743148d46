"""Evidence that the claimed execution provider did the work."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from runner.backends.base import Query
from runner.backends.onnxruntime_device import CPU, OnnxDevice
from runner.backends.onnxruntime_options import refuses_fallback
from runner.backends.onnxruntime_query import OnnxQuery
from runner.backends.onnxruntime_sessions import Nodes, nodes_of
from runner.measure.clock import monotonic, seconds
from runner.record import Proof


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
    outputs, told = _watch(query, timed=not device.is_simulated)
    sessions = query.opened.sessions.values()
    nodes = nodes_of(sessions)
    inputs_at, outputs_at = _places(query.inputs), _places(outputs)
    facts = Facts(
        providers_there=all(device.provider in each.get_providers() for each in sessions),
        values_there=inputs_at | outputs_at <= {device.memory},
        strict=all(refuses_fallback(session) for session in sessions),
        failed="error" in told,
    )
    evidence = {
        "claimed": device.claimed,
        "provider": device.provider,
        "providers": _joined(name for session in sessions for name in session.get_providers()),
        "parts": _joined(query.opened.graph.parts),
        "cpu_fallback": "disabled" if facts.strict else "allowed",
        "nodes": _counted(Counter({name: found.total() for name, found in nodes.items()})),
        "inputs": _joined(inputs_at),
        "outputs": _joined(outputs_at),
        **told,
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


def _watch(query: OnnxQuery, *, timed: bool) -> tuple[Mapping[str, Any], dict[str, str]]:
    """The outputs, and how the call went; whatever it raises is evidence."""
    outputs: Mapping[str, Any] = {}
    facts = {}
    cpu_start, start = time.process_time_ns(), monotonic()
    try:
        outputs = query()
    except Exception as raised:
        facts["error"] = f"{type(raised).__name__}: {raised}"
    if timed:
        facts["wall_s"] = f"{seconds(monotonic() - start):.6f}"
        facts["cpu_time_s"] = f"{seconds(time.process_time_ns() - cpu_start):.6f}"
    return outputs, facts


def _places(values: Mapping[str, Any]) -> set[str]:
    return {value.device_name() for value in values.values()}


def _counted(words: Counter[str]) -> str:
    return ", ".join(f"{word} {count}" for word, count in sorted(words.items())) or "none"


def _joined(words: Iterable[str]) -> str:
    return "+".join(sorted(set(words))) or "none"
