"""What a record says of the graph that a cell executes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from runner.backends.graphs.outputs import (
    all_finite,
    float_outputs,
    graph_columns,
    operators,
    save_trace,
)
from runner.contract.errors import Unsupported
from tests.support.onnx_graphs import KEY, attempts, layer, onnx_job, save_graph

JOB = onnx_job()


def test_a_dynamic_graph(tmp_path: Path) -> None:
    graph = save_graph(tmp_path, {"forward": layer()})
    assert graph_columns(JOB, graph) == {
        "graph": f"{KEY}/dynamic",
        "graph_sha256": graph.sha256,
        "graph_remedy": "dynamic shapes",
        "graph_difference_relative": 1e-7,
        "quantization": None,
    }


def test_a_graph_of_fixed_shape_is_told_without_those_of_other_shapes(tmp_path: Path) -> None:
    one = save_graph(tmp_path, {"forward": layer(rows=1)}, "b1", difference_relative=1e-6)
    three = save_graph(tmp_path, {"forward": layer(rows=3)}, "b3", difference_relative=3e-6)
    columns = graph_columns(JOB, one)
    assert columns["graph"] == f"{KEY}/b1"
    assert columns["graph_difference_relative"] == 1e-6
    assert (columns["graph_sha256"], one.sha256 != three.sha256) == (one.sha256, True)


def test_the_ways_that_failed_come_first(tmp_path: Path) -> None:
    made = attempts("static shape", failed=["dynamic shapes"])
    graph = save_graph(tmp_path, {"forward": layer(rows=1)}, "b1", attempts=made)
    assert graph_columns(JOB, graph)["graph_remedy"] == "dynamic shapes failed, static shape"


def test_how_numbers_became_whole_ones_is_told(tmp_path: Path) -> None:
    whole = {"numbers": "int8_dynamic", "method": "dynamic, in 1 of 1 products"}
    graph = save_graph(tmp_path, {"forward": layer()}, **whole)
    assert graph_columns(JOB, graph)["quantization"] == "dynamic, in 1 of 1 products"


def test_floating_point_outputs_become_copies_in_fp32_without_caches() -> None:
    half = np.ones(2, dtype=np.float16)
    outputs = {
        "logits": half,
        "past_key_values.layers.0.keys": half,
        "indices": np.ones(2, dtype=np.int64),
    }
    found = float_outputs(outputs)
    assert found.keys() == {"logits"}
    assert found["logits"].dtype == np.float32
    half[:] = 0
    assert found["logits"].all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_noticed_even_in_a_cache(bad: float) -> None:
    fine = np.ones(3, dtype=np.float32)
    assert all_finite({"logits": fine, "indices": np.ones(2, dtype=np.int64)})
    assert not all_finite({"logits": fine, "past_key_values.0": np.array([1, bad])})


def test_a_graph_without_outputs_cannot_be_checked() -> None:
    with pytest.raises(Unsupported, match="no output"):
        all_finite({})


CALL = {"cat": "Session", "name": "model_run", "ph": "X", "ts": 0, "dur": 99, "args": {}}


def kernel(at: int, took: int, name: str = "MatMul") -> dict[str, Any]:
    about = {"op_name": name, "provider": "CPU"}
    return {"cat": "Node", "name": f"{name}_kernel", "ts": at, "dur": took, "args": about}


def test_the_table_begins_with_what_took_longest() -> None:
    table = operators([CALL, kernel(1, 1), kernel(2, 2), kernel(5, 9, "Softmax")], "provider")
    rows = [line.split() for line in table.splitlines()[1:]]
    assert rows == [["Softmax", "CPU", "1", "9", "75.0%"], ["MatMul", "CPU", "2", "3", "25.0%"]]


def test_a_profile_without_operators_gives_an_empty_table() -> None:
    assert len(operators([CALL], "provider").splitlines()) == 1


def test_events_and_table_lie_beside_each_other(tmp_path: Path) -> None:
    save_trace([kernel(1, 1)], tmp_path / "v1.5", "provider")
    events = json.loads((tmp_path / "v1.5.trace.json").read_bytes())
    assert events == {"traceEvents": [kernel(1, 1)]}
    assert "MatMul" in (tmp_path / "v1.5.operators.txt").read_text("utf-8")
