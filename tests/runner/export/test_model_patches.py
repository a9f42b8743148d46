"""A mask leaves room for scores in the range of quantised numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import helper, numpy_helper
from transformers import T5Config
from transformers.models.t5.modeling_t5 import T5Attention

from runner.export.check import evaluator
from runner.export.quantize import bound_masks
from runner.export.torch_exporters import tabulate_buckets
from tests.support.onnx_graphs import FLOAT, model_of

LEAST = float(np.finfo(np.float32).min)
SCORES = np.array([[3.0, -2.0, 7.0]], dtype=np.float32)


def masked(folder: Path, *, node: bool) -> Path:
    """A softmax over scores of which the last is masked, by a constant node or an initializer."""
    mask = helper.make_tensor("mask", FLOAT, (1, 3), [0.0, 0.0, LEAST])
    constant = [helper.make_node("Constant", [], ["mask"], value=mask)] if node else []
    graph = helper.make_graph(
        [
            *constant,
            helper.make_node("Add", ["scores", "mask"], ["sum"]),
            helper.make_node("Softmax", ["sum"], ["shares"]),
        ],
        "masked",
        [helper.make_tensor_value_info("scores", FLOAT, (1, 3))],
        [helper.make_tensor_value_info("shares", FLOAT, (1, 3))],
        [] if node else [mask],
    )
    onnx.save_model(model_of(graph), folder / "masked.onnx")
    return folder / "masked.onnx"


def mask_of(path: Path) -> list[float]:
    graph = onnx.load_model(path).graph
    constants = [node.attribute[0].t for node in graph.node if node.op_type == "Constant"]
    values: list[float] = (
        numpy_helper.to_array([*graph.initializer, *constants][0]).ravel().tolist()
    )
    return values


@pytest.mark.parametrize("node", [False, True])
def test_what_means_minus_infinity_becomes_moderate_and_masks_all_the_same(
    tmp_path: Path, node: bool
) -> None:
    path = masked(tmp_path, node=node)
    before = evaluator(path)({"scores": SCORES})["shares"]
    assert mask_of(path)[2] == LEAST
    bound_masks(path)
    assert mask_of(path) == [0, 0, -100]
    after = evaluator(path)({"scores": SCORES})["shares"]
    np.testing.assert_allclose(after, before, rtol=1e-6, atol=1e-30)


@pytest.mark.parametrize("is_decoder", [False, True])
def test_a_table_sorts_distances_as_t5_does(is_decoder: bool) -> None:
    config = T5Config(d_model=8, d_kv=4, num_heads=2, is_decoder=is_decoder)
    attention: Any = T5Attention(config, has_relative_attention_bias=True)
    before = attention.compute_bias(300, 300)
    tabulate_buckets(attention)
    torch.testing.assert_close(attention.compute_bias(300, 300), before, rtol=0, atol=0)
    program = torch.export.export(attention.eval(), (torch.zeros(1, 4, 8),))
    assert not [node.name for node in program.graph.nodes if "log" in node.name]
