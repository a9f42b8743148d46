"""Chrome traces of operators, and tables of the heaviest ones."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from runner.contract.files import save_text

OPERATOR_CATEGORY = "Node"
"""The category of events that stand for operators."""
_HEAVIEST = 30

TraceEvent = dict[str, Any]
"""An event of Chrome's trace format; times in microseconds."""


def save_trace(events: Sequence[TraceEvent], stem: Path, by: str) -> None:
    """Write the events and the table.

    Raises:
        RecordNotSaved: the folder takes no more files.
    """
    text = json.dumps({"traceEvents": events})
    save_text(stem.with_name(f"{stem.name}.trace.json"), text)
    save_text(stem.with_name(f"{stem.name}.operators.txt"), operator_table(events, by))


def operator_table(events: Iterable[TraceEvent], by: str) -> str:
    """A table of the operators that took longest, by the kernels' own durations.

    Args:
        events: those of category `Node` count; their arguments name the operator.
        by: a further argument by which operators are told apart, e.g. `provider`.
    """
    durations_by_operator: dict[tuple[str, str], list[float]] = {}
    for event in events:
        if event["cat"] == OPERATOR_CATEGORY:
            about = event["args"]
            key = (about["op_name"], about.get(by, ""))
            durations_by_operator.setdefault(key, []).append(event["dur"])
    total = sum(sum(durations) for durations in durations_by_operator.values()) or 1
    heaviest = sorted(durations_by_operator.items(), key=lambda item: -sum(item[1]))[:_HEAVIEST]
    rows = [
        f"{name:<30} {other:<24} {len(durations):>7} {sum(durations):>12.0f} "
        f"{sum(durations) / total:>7.1%}"
        for (name, other), durations in heaviest
    ]
    head = f"{'operator':<30} {by:<24} {'calls':>7} {'total µs':>12} {'share':>7}"
    return "\n".join([head, *rows]) + "\n"
