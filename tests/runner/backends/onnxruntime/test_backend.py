"""Sessions of ONNX Runtime, beyond what every runtime promises."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from runner.backends.onnxruntime.backend import OnnxSession, open_session
from runner.inputs import synthesise
from tests.support.onnx_graphs import KEY, WIDTH, layer, onnx_cell, onnx_job, perceptron, save_graph

TWO = onnx_job(onnx_cell(1), onnx_cell(3))


@pytest.fixture
def graphs(tmp_path: Path) -> Path:
    save_graph(tmp_path, {"forward": layer()})
    return tmp_path


@pytest.fixture
def session(graphs: Path) -> Iterator[OnnxSession]:
    with closing(open_session(TWO, 1, graphs)) as session:
        yield session


def x(rows: int) -> dict[str, np.ndarray]:
    return dict(synthesise(perceptron(), onnx_cell(rows), 0))


def test_a_session_tells_what_it_executes_and_how(session: OnnxSession) -> None:
    columns = session.columns
    assert columns["graph"] == f"{KEY}/dynamic"
    assert columns["inference_precision"] == "float32"
    assert isinstance(columns["execution_options"], dict)
    assert columns["execution_options"]["intra_op_num_threads"] == "1"
    assert not {"compile_time_s", "cached_compile_time_s"} & columns.keys()
    assert session.parameters == WIDTH * WIDTH
    assert (session.threads, session.interop_threads) == (1, 1)
    assert {"onnxruntime", "numpy"} <= session.libraries.keys()


def test_a_dynamic_graph_is_loaded_once_for_all_shapes(session: OnnxSession) -> None:
    first, second = (session.bind(cell, x(cell.batch_size)) for cell in TWO.cells)
    assert first.opened is second.opened
    assert session.arrays(second())["logits"].shape == (3, WIDTH)


def test_a_graph_of_fixed_shape_is_loaded_when_its_shape_is_bound(tmp_path: Path) -> None:
    for rows in (1, 3):
        save_graph(tmp_path, {"forward": layer(rows=rows)}, f"b{rows}")
    with closing(open_session(TWO, 1, tmp_path)) as session:
        assert session.columns["graph"] == f"{KEY}/b1"
        for rows, cell in zip((1, 3), TWO.cells, strict=True):
            query = session.bind(cell, x(rows))
            assert len(session.arrays(query())["logits"]) == rows
            assert session.columns["graph"] == f"{KEY}/b{rows}"
