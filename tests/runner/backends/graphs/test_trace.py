"""Traces of operators and their tables."""

import json
from pathlib import Path
from typing import Any

from runner.backends.evidence import operator_table, save_trace

CALL = {"cat": "Session", "name": "model_run", "ph": "X", "ts": 0, "dur": 99, "args": {}}


def kernel(at: int, took: int, name: str = "MatMul") -> dict[str, Any]:
    about = {"op_name": name, "provider": "CPU"}
    return {"cat": "Node", "name": f"{name}_kernel", "ts": at, "dur": took, "args": about}


def test_the_table_begins_with_what_took_longest() -> None:
    table = operator_table([CALL, kernel(1, 1), kernel(2, 2), kernel(5, 9, "Softmax")], "provider")
    rows = [line.split() for line in table.splitlines()[1:]]
    assert rows == [["Softmax", "CPU", "1", "9", "75.0%"], ["MatMul", "CPU", "2", "3", "25.0%"]]


def test_a_profile_without_operators_gives_an_empty_table() -> None:
    assert len(operator_table([CALL], "provider").splitlines()) == 1


def test_events_and_table_lie_beside_each_other(tmp_path: Path) -> None:
    save_trace([kernel(1, 1)], tmp_path / "v1.5", "provider")
    events = json.loads((tmp_path / "v1.5.trace.json").read_bytes())
    assert events == {"traceEvents": [kernel(1, 1)]}
    assert "MatMul" in (tmp_path / "v1.5.operators.txt").read_text("utf-8")
