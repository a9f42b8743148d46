"""int8 by NNCF, as a job loads."""

from contextlib import closing
from pathlib import Path
from typing import Any

import onnx
import openvino as ov
import pytest
from onnx import helper

from runner.backends.openvino.backend import OpenVINOSession, open_session
from runner.backends.openvino.graph import _SAMPLES, quantize
from runner.contract.cell import Cell
from runner.contract.errors import Unsupported
from runner.contract.graph import Part
from runner.correctness.differences import relative_difference
from runner.inputs import synthesise
from tests.support.onnx_graphs import FLOAT, KEY, WIDTH, layer, model_of, perceptron, save_graph
from tests.support.openvino_models import openvino_cell, openvino_job
from tests.support.words import raises_words

pytestmark = pytest.mark.slow
CORE = ov.Core()
CELL = openvino_cell(2, precision="int8")
JOB = openvino_job(CELL)
ONE, THREE = (openvino_cell(rows, precision="int8") for rows in (1, 3))


def compiled(model: ov.Model) -> ov.CompiledModel:
    return CORE.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


def relu(rows: int) -> onnx.ModelProto:
    """A graph without any product."""
    node = helper.make_node("Relu", ["x"], ["logits"], name="relu")
    x, y = (helper.make_tensor_value_info(name, FLOAT, (rows, WIDTH)) for name in ("x", "logits"))
    return model_of(helper.make_graph([node], "relu", [x], [y]))


def precision_told(session: OpenVINOSession) -> object:
    return session.columns["inference_precision"]


def test_an_int8_session_says_how_it_came_about_and_that_it_is_in_int8(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer()})
    inputs = synthesise(perceptron(), CELL, 0)
    with closing(open_session(openvino_job(openvino_cell(2)), 1, tmp_path)) as session:
        exact = session.arrays(session.bind(CELL, inputs)())["logits"]
    with closing(open_session(JOB, 1, tmp_path)) as session:
        columns = session.columns
        outputs = session.arrays(session.bind(CELL, inputs)())["logits"]
    assert 0 < relative_difference(outputs, exact) < 0.3
    assert columns["inference_precision"] == "f32, int8 in 1 products"
    assert str(columns["quantization"]).startswith("NNCF ")
    assert f"{_SAMPLES} seeded samples" in str(columns["quantization"])
    options: Any = columns["execution_options"]
    assert isinstance(columns["compile_time_s"], float)
    assert float(options["nncf_quantize_s"]) > 0  # beside the time of compiling


def test_what_is_told_of_int8_is_that_of_the_cell_bound_last(tmp_path: Path) -> None:
    save_graph(tmp_path, {"forward": layer(rows=1)}, "b1")
    vision, language = layer("x", "hidden", rows=3), layer("hidden", rows=3)
    save_graph(tmp_path, {"vision": vision, "language": language}, "b3")
    with closing(open_session(openvino_job(ONE, THREE), 1, tmp_path)) as session:
        reported = [precision_told(session)]
        for cell in (ONE, THREE, ONE):
            session.bind(cell, synthesise(perceptron(), cell, 0))
            reported.append(precision_told(session))
    assert reported == [f"f32, int8 in {products} products" for products in (1, 1, 2, 1)]


@pytest.mark.representatives(1)
@pytest.mark.parametrize("without", [ONE, THREE])
def test_a_cell_without_a_product_in_int8_is_unsupported(tmp_path: Path, without: Cell) -> None:
    for cell in (ONE, THREE):
        rows = cell.batch_size
        graph = relu(rows) if cell == without else layer(rows=rows)
        save_graph(tmp_path, {"forward": graph}, f"b{rows}")
    with closing(open_session(openvino_job(ONE, THREE), 1, tmp_path)) as session:
        for cell in (ONE, THREE):
            inputs = synthesise(perceptron(), cell, 0)
            if cell == without:
                with raises_words(Unsupported, match="no product of the int8 graph in int8"):
                    session.bind(cell, inputs)
            else:
                assert session.all_finite(session.bind(cell, inputs)())


def test_of_what_generates_the_weights_alone_become_int8(tmp_path: Path) -> None:
    parts: dict[Part, Any] = {"prefill": layer(), "decode": layer()}
    graph = save_graph(tmp_path, parts, content="generation")
    folder = tmp_path / KEY / "dynamic"
    models = {name: CORE.read_model(folder / part.file) for name, part in graph.parts.items()}
    quantized = quantize(JOB, CELL, graph, models, compiled)
    assert quantized.models.keys() == models.keys()
    assert "weights alone" in quantized.method
    x = synthesise(perceptron(), CELL, 0)["x"]
    exact, ours = (
        compiled(item["decode"])({"x": x})["logits"] for item in (models, quantized.models)
    )
    assert relative_difference(ours, exact) < 0.1
