"""Traces of a graph's execution: Chrome's format, and a table of the heaviest operators."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from runner.whole_files import save_text

NODE = "Node"
"""The category of an event that stands for an operator."""
HEAVIEST = 30

Event = dict[str, Any]
"""An event of Chrome's trace format; times in microseconds."""


def save_trace(events: Sequence[Event], stem: Path, by: str) -> None:
    """Write the events and the table.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    text = json.dumps({"traceEvents": events})
    save_text(stem.with_name(f"{stem.name}.trace.json"), text)
    save_text(stem.with_name(f"{stem.name}.operators.txt"), operators(events, by))


def operators(events: Iterable[Event], by: str) -> str:
    """A table of the operators that took longest, by the kernels' own durations.

    Args:
        events: those of category `Node` count; their arguments name the operator.
        by: the argument that operators are told apart by besides, e.g. `provider`.
    """
    taken: dict[tuple[str, str], list[float]] = {}
    for event in events:
        if event["cat"] == NODE:
            about = event["args"]
            key = (about["op_name"], about.get(by, ""))
            taken.setdefault(key, []).append(event["dur"])
    total = sum(sum(durations) for durations in taken.values()) or 1
    heaviest = sorted(taken.items(), key=lambda item: -sum(item[1]))[:HEAVIEST]
    rows = [
        f"{name:<30} {other:<24} {len(durations):>7} {sum(durations):>12.0f} "
        f"{sum(durations) / total:>7.1%}"
        for (name, other), durations in heaviest
    ]
    head = f"{'operator':<30} {by:<24} {'calls':>7} {'total µs':>12} {'share':>7}"
    return "\n".join([head, *rows]) + "\n"
