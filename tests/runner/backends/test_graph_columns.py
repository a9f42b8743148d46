"""What a record says of the graphs that a job executes."""

from pathlib import Path

import pytest

from runner.backends.graph_columns import graph_columns
from runner.errors import Unsupported
from tests.onnx_graphs import KEY, attempts, layer, onnx_cell, onnx_job, save_graph

TWO = onnx_job(onnx_cell(1), onnx_cell(3))


def test_a_dynamic_graph_stands_for_every_cell(tmp_path: Path) -> None:
    graph = save_graph(tmp_path, {"forward": layer()})
    assert graph_columns(TWO, tmp_path) == {
        "graph": f"{KEY}/dynamic",
        "graph_sha256": graph.sha256,
        "graph_remedy": "dynamic shapes",
        "graph_difference_relative": 1e-7,
        "quantization": None,
    }


def test_graphs_of_fixed_shape_are_told_together(tmp_path: Path) -> None:
    one = save_graph(tmp_path, {"forward": layer(rows=1)}, "b1", difference_relative=1e-6)
    three = save_graph(tmp_path, {"forward": layer(rows=3)}, "b3", difference_relative=3e-6)
    columns = graph_columns(TWO, tmp_path)
    assert columns["graph"] == f"{KEY}/b1+b3"
    assert columns["graph_difference_relative"] == 3e-6
    assert columns["graph_sha256"] not in {one.sha256, three.sha256}


def test_the_ways_that_failed_come_first(tmp_path: Path) -> None:
    made = attempts("static shape", failed=["dynamic shapes"])
    save_graph(tmp_path, {"forward": layer(rows=1)}, "b1", attempts=made)
    columns = graph_columns(TWO, tmp_path)
    assert columns["graph_remedy"] == "dynamic shapes failed, static shape"


def test_a_cell_without_a_graph_leaves_those_of_the_others(tmp_path: Path) -> None:
    graph = save_graph(tmp_path, {"forward": layer(rows=3)}, "b3")
    assert graph_columns(TWO, tmp_path)["graph_sha256"] == graph.sha256


def test_how_numbers_became_whole_ones_is_told(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()}, numbers="int8_dynamic", method="dynamic")
    assert graph_columns(TWO, tmp_path)["quantization"] == "dynamic"


def test_without_any_graph_the_exporters_reason_is_given(tmp_path: Path) -> None:
    (tmp_path / KEY).mkdir()
    (tmp_path / KEY / "dynamic.failed").write_text("it would not trace")
    with pytest.raises(Unsupported, match="it would not trace"):
        graph_columns(TWO, tmp_path)
