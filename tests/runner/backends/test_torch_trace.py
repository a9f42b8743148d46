"""Traces by torch's profiler."""

import json
from pathlib import Path

import pytest
import torch

from runner.backends.torch_trace import trace
from runner.errors import RecordNotSaved

pytestmark = pytest.mark.torch

CPU = torch.device("cpu")


def test_a_trace_shows_operators_with_their_shapes(tmp_path: Path) -> None:
    trace(lambda: torch.ones(3, 4) @ torch.ones(4, 5), tmp_path / "cell", CPU)
    events = json.loads((tmp_path / "cell.trace.json").read_bytes())["traceEvents"]
    (product,) = [event for event in events if event["name"] == "aten::mm"]
    assert product["args"]["Input Dims"][:2] == [[3, 4], [4, 5]]
    assert "aten::mm" in (tmp_path / "cell.operators.txt").read_text("utf-8")


def test_a_trace_that_cannot_be_saved_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RecordNotSaved, match="cannot be written"):
        trace(lambda: torch.ones(1), tmp_path / "missing" / "cell", CPU)
    assert not list(tmp_path.iterdir())


def test_a_failing_call_leaves_no_trace(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        trace(fail, tmp_path / "cell", CPU)
    assert not list(tmp_path.iterdir())
