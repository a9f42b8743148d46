"""Traces that OpenVINO's performance counters make."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import numpy as np
import openvino as ov

from runner.backends.openvino_compile import Compiler
from runner.backends.openvino_device import find_device
from runner.backends.openvino_step import Step, placed
from runner.backends.openvino_trace import events_of, trace
from tests.openvino_models import doubling


@dataclass
class Status:
    name: str


@dataclass
class Node:
    """What OpenVINO tells of an operator."""

    node_name: str
    microseconds: int
    executed: bool = True
    node_type: str = "MatMul"
    exec_type: str = "jit_f32"
    status: Status = field(init=False)

    def __post_init__(self) -> None:
        self.status = Status("EXECUTED" if self.executed else "NOT_RUN")

    @property
    def real_time(self) -> timedelta:
        return timedelta(microseconds=self.microseconds)


class FakeRequest:
    """A request that executed these nodes."""

    def __init__(self, *nodes: Node) -> None:
        self._nodes = nodes

    def get_profiling_info(self) -> Sequence[Node]:
        return self._nodes


def test_operators_are_laid_end_to_end_part_after_part() -> None:
    vision = FakeRequest(Node("a", 3), Node("constant", 9, executed=False), Node("b", 4))
    events = list(events_of([vision, FakeRequest(Node("c", 5))]))
    assert [(e["name"], e["ts"], e["dur"], e["tid"]) for e in events] == [
        ("a", 0, 3, 0),
        ("b", 3, 4, 0),
        ("c", 7, 5, 1),
    ]
    assert events[0]["args"] == {"op_name": "MatMul", "kernel": "jit_f32"}
    assert {(event["cat"], event["ph"]) for event in events} == {("Node", "X")}


def test_the_second_of_two_calls_is_profiled_in_a_request_of_its_own(tmp_path: Path) -> None:
    core = ov.Core()
    compiler = Compiler(core, find_device(core, "CPU"), "fp32", threads=1)
    step = Step(doubling(), compiler.compile(doubling()))
    step.read({"x": placed(np.ones((500_000, 2), dtype=np.float32))})  # takes over 1 µs
    usual, seen = step.request, []

    def action() -> None:
        seen.append(step.request)
        step()

    trace(action, [step], compiler, tmp_path / "cell")
    assert len(seen) == 2
    assert usual not in seen
    assert step.request is usual
    events = json.loads((tmp_path / "cell.trace.json").read_text())["traceEvents"]
    assert events
    assert "kernel" in (tmp_path / "cell.operators.txt").read_text().splitlines()[0]
