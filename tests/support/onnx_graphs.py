"""Graphs of a few nodes, as an export leaves them, without any exporter."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from runner.contract.cell import Cell
from runner.contract.graph import DYNAMIC, GRAPH_FILE, Attempt, Graph, Part
from runner.contract.job import Job
from runner.contract.models import ModelSpec, TensorSpec
from runner.contract.reasons import reason
from runner.export.onnx_files import describe_part
from tests.support.jobs import a_graph, a_job, fake_cell

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16
WIDTH = 8
KEY = "perceptron"
OPSET = 20


def perceptron() -> ModelSpec:
    """A model of one input `x`, shape [batch_size, 8]."""
    return ModelSpec(
        name=KEY,
        family="vision",
        task="image-classification",
        modality="image",
        architecture="none",
        config={},
        inputs=(TensorSpec(name="x", kind="normal", shape=("batch_size", WIDTH)),),
    )


def onnx_cell(batch_size: int = 1, **changes: Any) -> Cell:
    """A cell of that model where ONNX Runtime executes it."""
    values: dict[str, Any] = {"backend": "cpu", "runtime": "onnxruntime", "model": KEY}
    return fake_cell(batch_size, **{"sequence_length": None, **values, **changes})


def onnx_job(*cells: Cell, **changes: Any) -> Job:
    """A job of such cells over the graph `perceptron`."""
    job = a_job(cells or (onnx_cell(),), perceptron())
    return job.model_copy(update={"graph": KEY, **changes})


def layer(
    source: str = "x", result: str = "logits", *, rows: int | str = "n", kind: int = FLOAT
) -> onnx.ModelProto:
    """ReLU of a product with a random square matrix, as one file."""
    weights = np.random.default_rng(0).standard_normal((WIDTH, WIDTH)).ravel()
    product = helper.make_node("MatMul", [source, "w"], ["product"], name="product")
    relu = helper.make_node("Relu", ["product"], [result], name="relu")
    graph = helper.make_graph(
        [product, relu],
        "layer",
        [helper.make_tensor_value_info(source, kind, (rows, WIDTH))],
        [helper.make_tensor_value_info(result, kind, (rows, WIDTH))],
        [helper.make_tensor("w", kind, (WIDTH, WIDTH), weights.tolist())],
    )
    return model_of(graph)


def model_of(graph: onnx.GraphProto) -> onnx.ModelProto:
    """The graph as a model that the runtimes of today read."""
    opsets = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def square(name: str) -> onnx.ValueInfoProto:
    """A value of shape [8, 8]."""
    return helper.make_tensor_value_info(name, FLOAT, (WIDTH, WIDTH))


def save_graph(
    graphs: Path, models: dict[Part, onnx.ModelProto], shape: str = DYNAMIC, **changes: Any
) -> Graph:
    """Leave the models as the parts of the graph `perceptron`."""
    folder = graphs / KEY / shape
    folder.mkdir(parents=True)
    for part, model in models.items():
        onnx.save_model(model, folder / f"{part}.onnx")
    parts = {part: describe_part(folder / f"{part}.onnx") for part in models}
    own: dict[str, Any] = {"model": KEY, "shape": shape, "parameters": WIDTH * WIDTH}
    graph = a_graph(parts, **own | changes)
    (folder / GRAPH_FILE).write_text(graph.model_dump_json())
    return graph


def attempts(made: str, failed: Sequence[str] = ()) -> tuple[Attempt, ...]:
    """The ways that failed, then the one that was good."""
    tried = [Attempt(remedy=remedy, failure=reason("said", text="broken")) for remedy in failed]
    return (*tried, Attempt(remedy=made, failure=None))
