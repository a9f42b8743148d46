"""Outputs of a graph, and the columns of a record about it."""

from pathlib import Path

import numpy as np
import pytest

from runner.backends.graphs.outputs import all_finite, float_outputs, graph_columns
from runner.contract.errors import Unsupported
from tests.support.onnx_graphs import KEY, attempts, layer, onnx_job, save_graph
from tests.support.words import raises_words

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
    created = attempts("static shape", failed=["dynamic shapes"])
    graph = save_graph(tmp_path, {"forward": layer(rows=1)}, "b1", attempts=created)
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
    result = float_outputs(outputs)
    assert result.keys() == {"logits"}
    assert result["logits"].dtype == np.float32
    half[:] = 0
    assert result["logits"].all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_none_is_noticed_even_in_a_cache(bad: float) -> None:
    fine = np.ones(3, dtype=np.float32)
    assert all_finite({"logits": fine, "indices": np.ones(2, dtype=np.int64)})
    assert not all_finite({"logits": fine, "past_key_values.0": np.array([1, bad])})


def test_a_graph_without_outputs_cannot_be_checked() -> None:
    with raises_words(Unsupported, match="no output"):
        all_finite({})
